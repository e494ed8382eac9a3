#!/usr/bin/env bash
# Plays Connect Four over HTTP: bash bot.sh NAME
play=${NOUGHTS_WEB:-http://127.0.0.1:7480}/api/v1/play session='' move=''
post() { # prints the answer and, in a line of its own, its status
  curl -sS -m 60 -H "Authorization: Bearer $NOUGHTS_TOKEN" -d "$2" -w '\n%{http_code}' "$1"
}
while true; do
  if [ -z "$session" ]; then
    answer=$(post "$play" "{\"bot\":\"$1\",\"variants\":[\"connect4\"]}")
  else
    answer=$(post "$play/$session/moves?wait=25" "{\"moves\":[$move]}")
  fi
  case ${answer##*$'\n'} in
    200 | 201) ;;
    404) session='' move='' && continue ;; # the session is over: open one again
    000 | 429 | 503) sleep 1 && continue ;; # no answer, or the server is busy: send the same again
    *) echo "$answer" >&2 && exit 1 ;;
  esac
  [[ $answer =~ \"session\":\"([^\"]+) ]] && session=${BASH_REMATCH[1]}
  if [[ $answer =~ \"ended\":\[\{\"page\":\"([^\"]+).*\"result\":\"([^\"]+) ]]; then
    echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
  fi
  move=''
  if [[ $answer =~ \"turn\":([0-9]+),\"page\".*\"legal\":\[([0-9,]+) ]]; then
    IFS=, read -ra legal <<<"${BASH_REMATCH[2]}"
    move="{\"turn\":${BASH_REMATCH[1]},\"move\":${legal[RANDOM % ${#legal[@]}]}}"
  fi
done
