! The C API for Fortran (2008 or later). Compile this file with the host, and link libquadrille.
!
! The functions are those of quadrille.h and return its statuses; words are Fortran strings. Arrays are passed as lists
! of addresses, b = [c_loc(source)], of arrays that the host declares as target: in C,
! complex(c_double_complex) :: source(3, 4, V) is [site][spin][color]. Handles are type(c_ptr).
module quadrille
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int), parameter, public :: quadrille_done = 0, quadrille_failed = 1, quadrille_stopped = 2, &
      quadrille_invalid_input = 3, &
      quadrille_file_error = 4, quadrille_unsupported = 5, quadrille_numerical = 6, quadrille_internal = 7, &
      quadrille_invalid_handle = 8, quadrille_no_memory = 9, quadrille_not_converged = 10, &
      quadrille_failed_elsewhere = 11, &
      quadrille_inaccurate = 12
  integer(c_int), parameter, public :: quadrille_m = 0, quadrille_m_dagger = 1, quadrille_m_dagger_m = 2, &
      quadrille_hop = 3, quadrille_hop_dagger = 4, quadrille_even_odd = 5, quadrille_even_odd_dagger = 6, &
      quadrille_even_odd_dagger_even_odd = 7
  integer(c_int), parameter, public :: quadrille_log_debug = 1, quadrille_log_info = 2, quadrille_log_warning = 3, &
      quadrille_log_error = 4
  integer(c_int32_t), parameter, public :: quadrille_converged = 0, quadrille_max_iterations = 1, &
      quadrille_breakdown = 2, quadrille_diverged = 3, quadrille_not_finite = 4, quadrille_stagnated = 5

  type, bind(c), public :: quadrille_report
    integer(c_int32_t) :: struct_size = 72
    integer(c_int32_t) :: stop_reason = 0, iterations = 0, reliable_updates = 0, restarts = 0, converged = 0
    real(c_double) :: residual = 0, solve_seconds = 0, import_seconds = 0, export_seconds = 0, flops = 0
    integer(c_int64_t) :: host_bytes = 0
  end type

  public :: quadrille_context_create, quadrille_context_create_mpi, quadrille_context_destroy
  public :: quadrille_context_set_stream, quadrille_context_set_log, quadrille_context_set_progress
  public :: quadrille_message, quadrille_help, quadrille_schema, quadrille_job_run
  public :: quadrille_version, quadrille_build_id, quadrille_text
  public :: quadrille_gauge_create, quadrille_gauge_from_memory, quadrille_gauge_update, quadrille_gauge_to_memory
  public :: quadrille_gauge_save, quadrille_gauge_dims, quadrille_gauge_part, quadrille_gauge_plaquettes
  public :: quadrille_gauge_json, quadrille_gauge_destroy
  public :: quadrille_operator_create, quadrille_operator_apply, quadrille_operator_destroy
  public :: quadrille_operator_set_clover
  public :: quadrille_solver_create, quadrille_solver_solve, quadrille_solver_solve_shifts
  public :: quadrille_solver_json, quadrille_solver_destroy

  interface
    integer(c_int) function quadrille_context_destroy(context) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: context
    end function
    ! A cudaStream_t; c_null_ptr: calls wait for the whole device.
    integer(c_int) function quadrille_context_set_stream(context, stream) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: context, stream
    end function
    ! `log`: c_funloc of a subroutine with bind(c), (user, level, text): a type(c_ptr), value; an integer(c_int), value; a
    ! type(c_ptr), value, of which quadrille_text makes a string. c_null_funptr: no log.
    integer(c_int) function quadrille_context_set_log(context, level, log, user) bind(c)
      import :: c_int, c_ptr, c_funptr
      type(c_ptr), value :: context
      integer(c_int), value :: level
      type(c_funptr), value :: log
      type(c_ptr), value :: user
    end function
    ! `progress`: c_funloc of an integer(c_int) function with bind(c), (user, solve, solves, iteration, residual): a
    ! type(c_ptr), two of integer(c_size_t), an integer(c_int), a real(c_double), all values. Other than 0 stops.
    integer(c_int) function quadrille_context_set_progress(context, progress, user) bind(c)
      import :: c_int, c_ptr, c_funptr
      type(c_ptr), value :: context
      type(c_funptr), value :: progress
      type(c_ptr), value :: user
    end function
    integer(c_int) function quadrille_gauge_destroy(gauge) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: gauge
    end function
    integer(c_int) function quadrille_operator_destroy(op) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: op
    end function
    integer(c_int) function quadrille_solver_destroy(solver) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: solver
    end function
    ! Extents x, y, z, t.
    integer(c_int) function quadrille_gauge_dims(gauge, dims) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: gauge
      integer(c_int), intent(out) :: dims(4)
    end function
    ! The extents of this rank's part, and the coordinates of its first site in the whole lattice.
    integer(c_int) function quadrille_gauge_part(gauge, dims, origin) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: gauge
      integer(c_int), intent(out) :: dims(4), origin(4)
    end function
    ! The mean over all planes, then those of the planes xy, xz, xt, yz, yt, zt.
    integer(c_int) function quadrille_gauge_plaquettes(gauge, plaquettes) bind(c)
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: gauge
      real(c_double), intent(out) :: plaquettes(7)
    end function

    type(c_ptr) function c_message(context) bind(c, name="quadrille_message")
      import :: c_ptr
      type(c_ptr), value :: context
    end function
    integer(c_int) function c_context_create(words, context) bind(c, name="quadrille_context_create")
      import :: c_int, c_char, c_ptr
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(out) :: context
    end function
    integer(c_int) function c_context_create_mpi(words, communicator, context) &
        bind(c, name="quadrille_context_create_mpi_fortran")
      import :: c_int, c_char, c_ptr
      character(kind=c_char), intent(in) :: words(*)
      integer(c_int), value :: communicator
      type(c_ptr), intent(out) :: context
    end function
    integer(c_int) function c_gauge_create(context, words, gauge) bind(c, name="quadrille_gauge_create")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(out) :: gauge
    end function
    integer(c_int) function c_operator_create(gauge, words, op) bind(c, name="quadrille_operator_create")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: gauge
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(out) :: op
    end function
    integer(c_int) function c_solver_create(op, words, solver) bind(c, name="quadrille_solver_create")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: op
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(out) :: solver
    end function
    integer(c_int) function c_from_memory(context, words, arrays, count, gauge) bind(c, name="quadrille_gauge_from_memory")
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
      type(c_ptr), intent(out) :: gauge
    end function
    integer(c_int) function c_update(gauge, words, arrays, count) bind(c, name="quadrille_gauge_update")
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: gauge
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_to_memory(gauge, words, arrays, count) bind(c, name="quadrille_gauge_to_memory")
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: gauge
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_save(gauge, words) bind(c, name="quadrille_gauge_save")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: gauge
      character(kind=c_char), intent(in) :: words(*)
    end function
    type(c_ptr) function c_version() bind(c, name="quadrille_version")
      import :: c_ptr
    end function
    type(c_ptr) function c_build_id() bind(c, name="quadrille_build_id")
      import :: c_ptr
    end function
    integer(c_int) function c_schema(context, json) bind(c, name="quadrille_schema")
      import :: c_int, c_ptr
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: json
    end function
    integer(c_int) function c_help(context, topic, text) bind(c, name="quadrille_help")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: context
      character(kind=c_char), intent(in) :: topic(*)
      type(c_ptr), intent(out) :: text
    end function
    integer(c_int) function c_job_run(context, gauge, words, folder, json) bind(c, name="quadrille_job_run")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: context, gauge
      character(kind=c_char), intent(in) :: words(*), folder(*)
      type(c_ptr), intent(out) :: json
    end function
    integer(c_int) function c_gauge_json(gauge, json) bind(c, name="quadrille_gauge_json")
      import :: c_int, c_ptr
      type(c_ptr), value :: gauge
      type(c_ptr), intent(out) :: json
    end function
    integer(c_int) function c_solver_json(solver, json) bind(c, name="quadrille_solver_json")
      import :: c_int, c_ptr
      type(c_ptr), value :: solver
      type(c_ptr), intent(out) :: json
    end function
    integer(c_int) function c_set_clover(op, words, blocks) bind(c, name="quadrille_operator_set_clover")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: op, blocks
      character(kind=c_char), intent(in) :: words(*)
    end function
    integer(c_int) function c_apply(op, product, words, in, out, count) bind(c, name="quadrille_operator_apply")
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: op
      integer(c_int), value :: product
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(in) :: in(*), out(*)
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_solve(solver, words, b, x, count, reports) bind(c, name="quadrille_solver_solve")
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: words(*)
      type(c_ptr), intent(in) :: b(*), x(*)
      integer(c_size_t), value :: count
      type(c_ptr), value :: reports
    end function
    integer(c_int) function c_solve_shifts(solver, words, shifts, b, x, count, reports) &
        bind(c, name="quadrille_solver_solve_shifts")
      import :: c_int, c_char, c_double, c_ptr, c_size_t
      type(c_ptr), value :: solver, b
      character(kind=c_char), intent(in) :: words(*)
      real(c_double), intent(in) :: shifts(*)
      type(c_ptr), intent(in) :: x(*)
      integer(c_size_t), value :: count
      type(c_ptr), value :: reports
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  function quadrille_context_create(words, context) result(status)
    character(*), intent(in) :: words
    type(c_ptr), intent(out) :: context
    integer(c_int) :: status
    status = c_context_create(words // c_null_char, context)
  end function

  ! On the ranks of a communicator: MPI_COMM_WORLD; with mpi_f08, MPI_COMM_WORLD%mpi_val.
  function quadrille_context_create_mpi(words, communicator, context) result(status)
    character(*), intent(in) :: words
    integer, intent(in) :: communicator
    type(c_ptr), intent(out) :: context
    integer(c_int) :: status
    status = c_context_create_mpi(words // c_null_char, int(communicator, c_int), context)
  end function

  ! The message of a context, or with c_null_ptr that of the last call of this thread that failed.
  function quadrille_message(context) result(message)
    type(c_ptr), intent(in) :: context
    character(:), allocatable :: message
    message = text_of(c_message(context))
  end function

  function quadrille_help(context, topic, text) result(status)
    type(c_ptr), intent(in) :: context
    character(*), intent(in) :: topic
    character(:), allocatable, intent(out) :: text
    type(c_ptr) :: given
    integer(c_int) :: status
    status = c_help(context, topic // c_null_char, given)
    text = ''
    if (status == quadrille_done) text = text_of(given)
  end function

  ! Runs a whole job, on `gauge` unless it is c_null_ptr; json is the text of results.json.
  function quadrille_job_run(context, gauge, words, folder, json) result(status)
    type(c_ptr), intent(in) :: context, gauge
    character(*), intent(in) :: words, folder
    character(:), allocatable, intent(out) :: json
    type(c_ptr) :: given
    integer(c_int) :: status
    status = c_job_run(context, gauge, words // c_null_char, folder // c_null_char, given)
    json = text_of(given)
  end function

  function quadrille_gauge_create(context, words, gauge) result(status)
    type(c_ptr), intent(in) :: context
    character(*), intent(in) :: words
    type(c_ptr), intent(out) :: gauge
    integer(c_int) :: status
    status = c_gauge_create(context, words // c_null_char, gauge)
  end function

  function quadrille_gauge_from_memory(context, words, arrays, gauge) result(status)
    type(c_ptr), intent(in) :: context
    character(*), intent(in) :: words
    type(c_ptr), intent(in) :: arrays(:)
    type(c_ptr), intent(out) :: gauge
    integer(c_int) :: status
    status = c_from_memory(context, words // c_null_char, arrays, size(arrays, kind=c_size_t), gauge)
  end function

  function quadrille_gauge_update(gauge, words, arrays) result(status)
    type(c_ptr), intent(in) :: gauge
    character(*), intent(in) :: words
    type(c_ptr), intent(in) :: arrays(:)
    integer(c_int) :: status
    status = c_update(gauge, words // c_null_char, arrays, size(arrays, kind=c_size_t))
  end function

  function quadrille_gauge_to_memory(gauge, words, arrays) result(status)
    type(c_ptr), intent(in) :: gauge
    character(*), intent(in) :: words
    type(c_ptr), intent(in) :: arrays(:)
    integer(c_int) :: status
    status = c_to_memory(gauge, words // c_null_char, arrays, size(arrays, kind=c_size_t))
  end function

  function quadrille_gauge_save(gauge, words) result(status)
    type(c_ptr), intent(in) :: gauge
    character(*), intent(in) :: words
    integer(c_int) :: status
    status = c_save(gauge, words // c_null_char)
  end function

  function quadrille_gauge_json(gauge, json) result(status)
    type(c_ptr), intent(in) :: gauge
    character(:), allocatable, intent(out) :: json
    type(c_ptr) :: given
    integer(c_int) :: status
    status = c_gauge_json(gauge, given)
    json = ''
    if (status == quadrille_done) json = text_of(given)
  end function

  function quadrille_operator_create(gauge, words, op) result(status)
    type(c_ptr), intent(in) :: gauge
    character(*), intent(in) :: words
    type(c_ptr), intent(out) :: op
    integer(c_int) :: status
    status = c_operator_create(gauge, words // c_null_char, op)
  end function

  function quadrille_operator_set_clover(op, words, blocks) result(status)
    type(c_ptr), intent(in) :: op, blocks
    character(*), intent(in) :: words
    integer(c_int) :: status
    status = c_set_clover(op, words // c_null_char, blocks)
  end function

  function quadrille_operator_apply(op, product, words, in, out) result(status)
    type(c_ptr), intent(in) :: op
    integer(c_int), intent(in) :: product
    character(*), intent(in) :: words
    type(c_ptr), intent(in) :: in(:), out(:)
    integer(c_int) :: status
    integer :: count
    count = max(size(in), size(out))  ! the library refuses what is missing
    status = c_apply(op, product, words // c_null_char, filled(in, count), filled(out, count), int(count, c_size_t))
  end function

  function quadrille_solver_create(op, words, solver) result(status)
    type(c_ptr), intent(in) :: op
    character(*), intent(in) :: words
    type(c_ptr), intent(out) :: solver
    integer(c_int) :: status
    status = c_solver_create(op, words // c_null_char, solver)
  end function

  function quadrille_solver_solve(solver, words, b, x, reports) result(status)
    type(c_ptr), intent(in) :: solver
    character(*), intent(in) :: words
    type(c_ptr), intent(in) :: b(:), x(:)
    type(quadrille_report), optional, contiguous, target, intent(inout) :: reports(:)
    type(quadrille_report), target :: none
    type(c_ptr) :: place
    integer(c_int) :: status
    integer :: count
    count = max(size(b), size(x))  ! the library refuses what is missing
    none%struct_size = 0
    place = c_null_ptr
    if (present(reports)) then
      place = c_loc(none)
      if (size(reports) >= count) place = c_loc(reports)
    end if
    status = c_solve(solver, words // c_null_char, filled(b, count), filled(x, count), int(count, c_size_t), place)
  end function

  function quadrille_solver_solve_shifts(solver, words, shifts, b, x, reports) result(status)
    type(c_ptr), intent(in) :: solver, b
    character(*), intent(in) :: words
    real(c_double), intent(in) :: shifts(:)
    type(c_ptr), intent(in) :: x(:)
    type(quadrille_report), optional, contiguous, target, intent(inout) :: reports(:)
    type(quadrille_report), target :: none
    type(c_ptr) :: place
    integer(c_int) :: status
    none%struct_size = 0
    place = c_null_ptr
    if (present(reports)) then
      place = c_loc(none)
      if (size(reports) >= size(shifts)) place = c_loc(reports)
    end if
    status = c_solve_shifts(solver, words // c_null_char, shifts, b, filled(x, size(shifts)), &
                            int(size(shifts), c_size_t), place)
  end function

  function quadrille_solver_json(solver, json) result(status)
    type(c_ptr), intent(in) :: solver
    character(:), allocatable, intent(out) :: json
    type(c_ptr) :: given
    integer(c_int) :: status
    status = c_solver_json(solver, given)
    json = ''
    if (status == quadrille_done) json = text_of(given)
  end function

  function quadrille_schema(context, json) result(status)
    type(c_ptr), intent(in) :: context
    character(:), allocatable, intent(out) :: json
    type(c_ptr) :: given
    integer(c_int) :: status
    status = c_schema(context, given)
    json = ''
    if (status == quadrille_done) json = text_of(given)
  end function

  function quadrille_version() result(text)
    character(:), allocatable :: text
    text = text_of(c_version())
  end function

  function quadrille_build_id() result(text)
    character(:), allocatable :: text
    text = text_of(c_build_id())
  end function

  ! A text that the library gives a log function.
  function quadrille_text(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    text = text_of(pointer)
  end function

  ! Addresses, as many as `count`, null ones last.
  function filled(given, count) result(all)
    type(c_ptr), intent(in) :: given(:)
    integer, intent(in) :: count
    type(c_ptr) :: all(count)
    all = c_null_ptr
    all(:size(given)) = given
  end function

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: k
    call c_f_pointer(pointer, letters, [c_strlen(pointer)])
    allocate(character(size(letters)) :: text)
    do k = 1, size(letters)
      text(k:k) = letters(k)
    end do
  end function
end module
