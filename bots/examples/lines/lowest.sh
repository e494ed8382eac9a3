while read -r variant side moves; do
    cell=0
    while case " $moves " in *" $cell "*) ;; *) false ;; esac; do cell=$((cell + 1)); done
    echo "$cell"
done
