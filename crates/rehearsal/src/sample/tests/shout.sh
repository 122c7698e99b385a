# One exclamation mark or three: whoever was asked has decided.
case $(sh bin/greet shout Ada) in
'HELLO, ADA!' | 'HELLO, ADA!!!') exit 0 ;;
*)
    echo "greet shout Ada must say HELLO, ADA! or HELLO, ADA!!!"
    exit 1
    ;;
esac
