# expect WANTED COMMAND...: what greet says must be this.
expect() {
    wanted=$1
    shift
    got=$(sh bin/greet "$@" 2>&1)
    [ "$got" = "$wanted" ] && return 0
    echo "greet $* says '$got', but '$wanted' is wanted"
    exit 1
}
