"""Array kernels: functions from NumPy arrays to NumPy arrays that NumPy itself does not have.

Nothing here knows about tensors, tapes or devices. ``special`` is the door to every special function
(the families live in ``error``, ``gamma``, ``incomplete_gamma``, ``bessel``, ``oscillating`` and
``polynomials``), ``windows`` holds the window functions, and ``blocks`` the shared machinery: cache-sized
blocks, Horner's rule and evaluation by region. Import the module you need; this one imports none of them.
"""
