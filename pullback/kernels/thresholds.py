"""From which size on a way of computing is chosen, and how large the pieces are that work is cut into.

All of these were measured, by timing both ways at sizes around the border: those about threads on 16 cores of a Xeon
(`benchmarks/scaling.md`), those about blocks, products and memory on two cores with 2 MiB of second-level cache each
(`benchmarks/kernels.md`), all others in single calls on such a machine (`benchmarks/calls.md`). Another machine may have
other best values; what is computed does not depend on them, but for roundings.
Limits that are facts of torch or of a file format stand where they hold.
"""

# --- threads ---

BLOCK_BYTES = 3 << 20
"""Working set of one block. Threads hand the interpreter over between two ufuncs, some microseconds each time: a
block is somewhat larger than the second-level cache of current cores, so that its ufuncs take ten times as long."""

HALF_BLOCK_BYTES = 1 << 18
"""The same in half precision, which takes a dozen steps in single."""

INLINE_BYTES = 1 << 20
"""Below this much data, waking a thread costs more than it saves a chain of elementwise functions."""

INLINE_ROW_BYTES = 5 << 19
"""The same for functions of rows, which do less to each element and hand the interpreter over more often."""

HEAD_START_BYTES = 1 << 18
"""Bytes through which a thread gets in a chain of elementwise functions while another is woken. It has that much more to do
than the others, so that it seldom waits for them: falling asleep and waking costs as much again."""

MOST_THREADS = 4
"""More threads than these make work slower that consists of many NumPy calls: after each call a thread has to wait for
the interpreter, and the more threads there are, the longer."""

LONG_CALL_BYTES = 3 << 20
"""Data of one NumPy call that are worth a thread of their own."""

MOST_BLAS_THREADS = 4
"""More threads of BLAS than these get in each other's way in products of moderate size."""

SMALL_UFUNC_BYTES = 5 << 20
"""Up to this much data (operands, result, and as much again as two of them) a ufunc takes less time on one thread than
waking another; a function of several steps, up to half of it."""

MAYBE_BLOCKED = 5 << 14
"""Elements below which no elementwise operation is ever cut into blocks, so that nobody asks whether it should be."""

CLEARED_BYTES = 1 << 22
"""Memory of this size is cleared by several threads."""

SHARED_SUM = 1 << 18
"""Elements from which the sum of an array is shared among threads."""

SHARED_ROW_SUMS = 1 << 20
"""Elements from which sums over rows are."""

# --- few elements: the plain formula against kernels that cut, fold and share ---

WHOLE = 1 << 14
"""Up to this many elements activations, softmax, normalization and updates of parameters run at once on the whole, without
blocks and threads: their temporaries fit the cache anyway."""

FOLDED_REDUCTION = 1 << 13
"""Elements from which softmax and its like are faster by the blocked kernels."""

SHORT_REDUCTION = 1 << 12
"""Elements that a reduction's gradient writes down faster than it makes a view."""

EXACT_RUN = 1 << 10
"""Elements that a product with ones sums as exactly as pairwise summation, and faster."""

SKIPPED_MAXIMUM = 128
"""Rows from which softmax tries without their maxima: below, looking at the sums takes as long as finding maxima."""

SQUARED_BY_UFUNC = 4096
"""Elements from which `np.square(x)` is faster than `x * x`, whose call costs less."""

RECTIFIED_BY_BITS = 1 << 15
"""Elements from which relu and its gradient work on the bits of numbers."""

MASKED_BY_BITS = 4096
"""Elements from which a mask is applied to the bits of numbers and not by a choice for each of them."""

CAST_BY_BITS = 1 << 14
"""Elements of half precision from which they are widened and narrowed by the bits."""

REMEMBERED_TRIANGLE = 1 << 12
"""Elements of a matrix up to which the mask of its triangle is remembered: to make it takes longer than to use it."""

MASKED_TRIANGLE = 1 << 18
"""Elements of a matrix beyond which the mask of its triangle leaves the cache, and NumPy's own functions are faster."""

FOLDED_PRODUCT = 4096
"""Elements from which a product of all elements in a row is taken by halves: NumPy multiplies them one after another."""

WIDE_RUNNING_TOTALS = 1 << 14
"""Elements of running totals that are computed in the wider dtype at a time, so that they stay in the cache."""

ALL_FREQUENCIES = 1024
"""Elements up to which computing all frequencies of real numbers is faster than mirroring half of them."""

FUNCTIONS_ONE_BY_ONE = 256
"""Elements below which a special function is computed for one number at a time, where Python offers it. A core makes thirty
to a hundred NumPy calls of half a microsecond: ten numbers take 2 microseconds this way and 25 the other."""

FUNCTION_BLOCK = 1 << 17
"""Elements of a special function computed at a time. Its thread waits for the interpreter between two calls: blocks of 1 MB
of float64 keep a call long beside that wait, and with a quarter of it four threads are slower than one."""

LOGARITHMS_AT_ONCE = 4096
"""Elements up to which x log(y) in single precision is computed by a short formula in double precision."""

PAIRS_BY_NUMPY = 256
"""Elements from which ten calls of NumPy for logarithms of sums take less time than a call of the C library for each."""

STEPS_TOGETHER = 1 << 16
"""Steps of a recurrence of polynomials times elements that are multiplied together."""

EXACT_BY_DOUBLE = 4096
"""Elements of a matrix up to which Muon's steps add in double precision, which is closest to torch's and takes twice as long."""

LINEAR_UNKNOWNS = 500
"""Unknowns up to which a linear system is solved by its matrix, and beyond which by products with it."""

PROBED_ENTRIES = 20_000_000
"""Entries of an operation's Jacobian up to which its pattern is found by looking at every one."""

NORMALIZED_AT_ONCE = 1 << 16
"""Elements that normalization by channels works on at a time: what is between fits a cache, and takes no more memory."""

# --- products ---

PRODUCT_ON_ONE_THREAD = 1 << 12
"""Elements of both factors up to which BLAS stays on one thread by itself, or nearly."""

VECTOR_PRODUCT_ON_ONE_THREAD = 1 << 16
"""The same where a factor is a vector: the product takes less time than holding BLAS to one thread."""

NARROW_COLUMNS = 20
"""Columns of a product that is long and narrow."""

LARGE_NARROW_PRODUCT = 1 << 22
"""Multiply-adds from which a narrow product is cut for several threads."""

SHARED_NARROW_PRODUCT = 1 << 21
"""Multiply-adds from which a smaller one is quicker on BLAS's threads than on one, if they are in nobody's way."""

UNPACKED_PRODUCT = 1_000_000
"""Multiply-adds up to which OpenBLAS multiplies operands as they lie, without packing them: half as fast again."""

LARGE_PRODUCT = 1 << 24
"""Multiply-adds from which one product is cut."""

ELEMENT_COST = 32
"""Multiply-adds that could be done while an element of an operand or the result is packed or written."""

WOKEN_PRODUCTS = 1 << 22
"""Multiply-adds that are done while another thread is being woken, a fifth of a millisecond: fewer stay on one thread."""

UNSHARED_PRODUCT = 1 << 18
"""Multiply-adds up to which BLAS leaves its own threads alone."""

FACTOR_SIDE_BY_SIDE = 1 << 14
"""Elements of a factor from which the two products of a backward pass may run side by side."""

OUTER_BY_COLUMNS = 256
"""Columns up to which outer products of batches are written column by column."""

# --- matrices: factorizations and systems ---

TRIANGLE_IN_ONE_CALL = 48
"""Rows of triangular systems up to which they are solved in one call of LAPACK."""

FEW_RIGHT_SIDES = 8
"""Right sides up to which NumPy's solver is as fast for triangular systems."""

PERMUTATIONS_BY_PYTHON = 32
"""Permutations that Python works out faster than NumPy all together."""

MATRICES_TOGETHER = 12
"""Rows of matrices up to which several are worked on together: a call for each would take longer."""

# --- convolutions, pooling, resampling ---

COLUMN_BYTES = 1 << 21
"""Columns unrolled at a time by one thread; smaller pieces hand the interpreter over too often."""

UNCUT_COLUMN_BYTES = 1 << 18
"""Columns of this size are one piece."""

KEPT_COLUMN_BYTES = 1 << 22
"""Columns up to this size are kept from the forward pass for the weight's gradient: copying them is half its work."""

FEW_COLUMN_ELEMENTS = 1 << 14
"""Elements of the columns up to which one table of indices and one product make a convolution."""

BAND_BYTES = 1 << 20
"""Bands and their products worked on at a time by one thread."""

REARRANGED_POSITIONS = 512
"""Output positions, of all samples, from which weights are worth rearranging for a faster product."""

TAPS_AT_ONCE = 4096
"""Up to this many taps in all, pooling picks them at once."""

RESAMPLED_AT_ONCE = 4096
"""Elements up to which resampling looks all of them up at once."""

RESAMPLING_BYTES = 1 << 20
"""Input, output and one term that resampling has in work at a time."""

TAP_BYTES = 1 << 18
"""Pixels and points of grid samples of as many channels as fit the cache twice are worked on at a time."""

WINDOWS_AT_ONCE = 1 << 20
"""Elements of the windows of the examples that are worked on together for gradients of each of them."""

# --- attention and recurrent layers ---

SCORE_BYTES = 1 << 20
"""Scores of attention computed at a time by one thread."""

CAUSAL_QUERIES = 128
"""Queries under a causal mask that are taken together; what none of them may look at is not computed."""

KEPT_SCORES = 1 << 21
"""Up to this many scores the probabilities are kept for the backward pass: rebuilding them costs a third of it."""

INLINE_SCORES = 1 << 16
"""Fewer scores than this are not worth waking a thread."""

STEP_BYTES = 1 << 18
"""Bytes of input for which the steps of a recurrent layer are prepared together."""

# --- indices, groups, order ---

PLACES_ONE_BY_ONE = 16
"""Indices below which slices are added one after another: they are too few to sort."""

NARROW_SLICES = 16
"""Slices of fewer elements are reduced element by element."""

GROUPED_UNSORTED = 1 << 14
"""Elements up to which sorting by groups takes longer than going through them."""

ROWS_OF_PLACES = 256
"""Places below which rows are not worth a call each."""

ADDED_UNSORTED = 1024
"""Elements of rows up to which they are added at their indices as they come, without sorting."""

ADDED_BY_ELEMENTS = 8192
"""The same for the gradient of an embedding, whose rows are taken as single numbers."""

REMEMBERED_PLACES = 4096
"""Indices up to which their places in memory are remembered and worked out at once."""

PLACES_AT_ONCE = 1 << 15
"""Places in memory worked out at a time where there are more."""

LOOKED_AT_EXPANDED = 4096
"""Indices from which it is worth asking whether they are expanded, so that one of each is enough to look at."""

VIEW_TRIED = 4096
"""Elements of an array that is not contiguous up to which NumPy may make a copy, to find out that a view will not do."""

SORTED_PARTLY = 4096
"""Elements from which long rows are put in order around one rank only."""

LONG_ROW = 64
"""Elements of such a row."""

TIES_BY_PYTHON = 1 << 15
"""Elements in rows with ties beyond which a loop in Python, to have them in torch's order, is not worth it."""

DISTANCES_BY_KERNEL = 4096
"""Pairs of points from which their distances are not computed from an array of all differences."""

DISTANCE_BYTES = 1 << 20
"""Distances worked on at a time."""

DISTANCE_ROWS = 128
"""Points whose distances to all others are worked on at a time."""

MOSTLY_ZEROS = 1 << 16
"""Elements of a gradient, nearly all of them zero, that are not written down unless somebody asks."""

COMBINED_COLUMNS = 1 << 18
"""Elements of a block of columns of several losses' gradients: in float64 they are twice or four times as large."""

# --- random numbers ---

CUT_OUT_SAMPLE = 1024
"""Values of a sample that is cut out of what is known about the words that wait."""

CUT_OUT_NORMALS = 2048
"""The same for normal numbers, which take a hundred steps."""

WINDOW_WORDS = 1 << 12
"""Words that are looked at together while numbers are tried and refused."""

OWN_CALL_WORDS = 4 * 624
"""Words up to which the bit generator's own call beats RandomState's argument checking."""

SAMPLED_AT_ONCE = 1 << 15
"""Values drawn in each pass: draws and results stay in the cache."""

NORMALS_AT_ONCE = 1 << 17
"""Normal numbers for each thread."""

PAIRS_PER_BLOCK = 1 << 16
"""Pairs of normal numbers made at a time: with half as many two threads mostly wait for each other; twice as many leave
the cache."""

COMPARED_AT_ONCE = 1 << 18
"""Comparisons up to which all are made, and beyond which each row is searched."""

PERMUTED_BY_PYTHON = 64
"""Places below which Python shuffles faster."""

SWAPS_AT_ONCE = 1 << 16
"""Places of a shuffle that are drawn together."""

PARAMETERS_BY_PYTHON = 8
"""Elements whose parameters Python prepares faster than NumPy."""

SHAPES_BY_PYTHON = 4
"""The same for the concentrations of gamma numbers."""

ALIKE_TOGETHER = 32
"""Elements with alike parameters in a row, from which they are drawn together."""

SLOPES_BY_PYTHON = 24
"""Elements whose derivatives by the parameters of a distribution Python goes through faster."""

SLOPES_AT_ONCE = 8192
"""Elements of such derivatives computed at a time: a dozen arrays are in use at once."""

# --- memory ---

POOLED_BYTES = 1 << 20
"""Bytes from which results come from the pool."""

LARGEST_MALLOC = 1 << 25
"""Blocks that the C library keeps are smaller than this: glibc returns larger ones to the system in any case."""
