"""Array kernels: functions from NumPy arrays to NumPy arrays that NumPy itself does not have, or has too slowly.

Nothing here knows about tensors, tapes or devices. ``special`` has every special function (the families
live in ``error``, ``gamma``, ``incomplete_gamma``, ``bessel``, ``oscillating`` and ``polynomials``, their machinery in
``blocks``), ``random`` draws numbers, ``signal_windows`` holds the window functions, ``threads`` the cores and caches.
The other modules are named after the layers and losses they compute. Import the module you need; this one imports none.
"""
