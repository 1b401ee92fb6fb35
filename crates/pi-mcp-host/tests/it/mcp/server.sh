#!/bin/sh
# A small MCP server of the version 2025-11-25: one message per line. Its directory is the first
# argument: `tools.json` is the answer to `tools/list`, `log` gets the methods, `answers` the
# answers of the client.
directory=$1
echo start >> "$directory/log"

reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
fail() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
text() { reply "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
notify() { printf '{"jsonrpc":"2.0","method":"notifications/%s","params":%s}\n' "$1" "$2"; }
ask() {
  printf '{"jsonrpc":"2.0","id":900,"method":"%s","params":%s}\n' "$1" "$2"
  IFS= read -r answer
  printf '%s\n' "$answer" >> "$directory/answers"
}

call() {
  case $1 in
    echo) message=${line#*'"message":"'}; text "Echo: ${message%%'"'*}" ;;
    where) text "$(pwd)" ;;
    error) reply '{"content":[],"isError":true}' ;;
    refuse) fail -32603 'bad thing' ;;
    die) echo 'last words' >&2; exit 3 ;;
    silent) ;;
    twice) text one; text two ;;
    large) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
      head -c 100000000 /dev/zero | tr '\0' x
      printf '"}]}}\n' ;;
    noise) head -c 20000000 /dev/zero | tr '\0' '\n' >&2; text quiet ;;
    storm) n=0
      while [ $n -lt 500 ]; do notify tools/list_changed '{}'; n=$((n + 1)); done
      text stormed ;;
    progress) token=${line#*'"progressToken":'}; token=${token%%[,\}]*}
      notify progress "{\"progressToken\":$token,\"progress\":1,\"total\":3}"
      notify progress "{\"progressToken\":$token,\"progress\":2,\"message\":\"nearly\"}"
      text done ;;
    form) ask elicitation/create '{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","default":"Ada"},"age":{"type":"integer"},"color":{"type":"string","enum":["red","blue"]}},"required":["name","age"]}}'
      text asked ;;
    page) ask elicitation/create '{"mode":"url","message":"Pay","url":"https://pay.example/1","elicitationId":"1"}'
      text asked ;;
    model) ask sampling/createMessage '{"messages":[{"role":"user","content":{"type":"text","text":"Say hi"}}],"maxTokens":50}'
      text asked ;;
    several) ask elicitation/create '{"message":"Which?","requestedSchema":{"type":"object","properties":{"colors":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["red","green","blue"]}}},"required":["colors"]}}'
      text asked ;;
    touch) notify resources/updated '{"uri":"x://a"}'; text touched ;;
    rename) cp "$directory/tools2.json" "$directory/tools.json"; notify tools/list_changed '{}'; text renamed ;;
    *) fail -32602 "no tool $1" ;;
  esac
}

while IFS= read -r line; do
  case $line in *'"method":"'*) ;; *) continue ;; esac
  method=${line#*'"method":"'}; method=${method%%'"'*}
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  echo "$method" >> "$directory/log"
  case $method in
    initialize) reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"sh","version":"1"},"instructions":"Tools for tests.\nMore of it."}' ;;
    notifications/initialized) if [ -e "$directory/changes" ]; then
        cp "$directory/tools2.json" "$directory/tools.json"; rm "$directory/changes"
        notify tools/list_changed '{}'
      fi ;;
    notifications/*) ;;
    tools/list) reply "$(cat "$directory/tools.json")" ;;
    tools/call) name=${line#*'"name":"'}; call "${name%%'"'*}" ;;
    resources/list) reply '{"resources":[{"uri":"x://a","name":"a","mimeType":"text/plain","annotations":{"priority":1},"server":"other","changed":true,"icons":[]},{"uri":"ui://b","name":"b"}]}' ;;
    resources/templates/list) reply '{"resourceTemplates":[{"uriTemplate":"x://{id}","name":"t"}]}' ;;
    resources/subscribe) reply '{}' ;;
    resources/read) reply '{"contents":[{"uri":"x://a","text":"content of a"}]}' ;;
    prompts/list) reply '{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}]}' ;;
    prompts/get) who=${line#*'"who":"'}; reply "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Greet ${who%%'"'*}\"}}]}" ;;
    completion/complete) reply '{"completion":{"values":["Ada","Alan"]}}' ;;
    *) fail -32601 "no method" ;;
  esac
done
