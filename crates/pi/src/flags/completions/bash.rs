//! Completions for bash, without the functions of bash-completion, which may not be installed.

use super::{Node, nodes};
use crate::flags::{Completes, Flag, Value};

const HEAD: &str = r#"# Completions of pi for bash.
# Adds what pi itself lists: models, sessions, providers, tools, settings.
_pi_dynamic() {
    local value about
    while IFS=$'\t' read -r value about; do
        COMPREPLY+=("${value#"$colons"}")
    done < <("${COMP_WORDS[0]}" __complete "$1" "$colons$cur" 2> /dev/null)
}
_pi() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="" path="" word colons="" at=$COMP_CWORD
    # bash splits words at colons, which ids of models contain.
    if [[ $cur == ":" && at -gt 1 ]]; then
        colons="${COMP_WORDS[at - 1]}:" cur="" at=$((at - 1))
    elif (( at > 2 )) && [[ ${COMP_WORDS[at - 1]} == ":" ]]; then
        colons="${COMP_WORDS[at - 2]}:" at=$((at - 2))
    fi
    (( at > 0 )) && prev="${COMP_WORDS[at - 1]}"
    # bash splits --option=value into three words.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev="${COMP_WORDS[at - 2]}"
    fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        case "$path $word" in
"#;

const MIDDLE: &str = r#"            *) break ;;
        esac
    done
    COMPREPLY=()
    case "$path:$prev" in
"#;

const TAIL: &str = r#"    esac
    if [[ $cur == @* ]]; then
        compopt -o filenames 2> /dev/null
        mapfile -t COMPREPLY < <(compgen -P @ -f -- "${cur#@}")
        return
    fi
    local commands="" flags="" words="" files="" dynamic=""
    case "$path" in
"#;

const END: &str = r#"    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
        return
    fi
    # Commands come first; any later word is a message.
    [[ -n $path || $COMP_CWORD -eq 1 ]] || commands=""
    mapfile -t COMPREPLY < <(compgen -W "$commands $words" -- "$cur")
    [[ -z $dynamic ]] || _pi_dynamic "$dynamic"
    if [[ -n $files && ${#COMPREPLY[@]} -eq 0 ]]; then
        compopt -o filenames 2> /dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}
complete -F _pi pi
"#;

pub(super) fn script() -> String {
    let nodes = nodes();
    let mut script = HEAD.to_owned();
    for node in nodes.iter().filter(|node| !node.path.is_empty()) {
        let path = node.path.join(" ");
        let (before, name) = path.rsplit_once(' ').unwrap_or(("", &path));
        script.push_str(&format!("            \"{before} {name}\") path=\"{path}\" ;;\n"));
    }
    script.push_str(MIDDLE);
    for node in &nodes {
        node.flags.iter().for_each(|flag| value(&mut script, node, flag));
    }
    script.push_str(TAIL);
    for node in &nodes {
        script.push_str(&format!("        \"{}\")\n", node.path.join(" ")));
        let commands: Vec<&str> = node.commands.iter().map(|command| command.name).collect();
        let flags: Vec<String> = node.flags.iter().flat_map(names).collect();
        let settings = [
            ("commands", commands.join(" ")),
            ("flags", flags.join(" ")),
            ("words", node.words.choices.join(" ")),
            ("files", if node.takes_files() { "yes" } else { "" }.to_owned()),
            ("dynamic", node.words.completes.dynamic().unwrap_or_default().to_owned()),
        ];
        for (name, setting) in settings.iter().filter(|(_, setting)| !setting.is_empty()) {
            script.push_str(&format!("            {name}=\"{setting}\"\n"));
        }
        script.push_str("            ;;\n");
    }
    script.push_str(END);
    script
}

/// Adds the completions of the value of an option.
fn value(script: &mut String, node: &Node, flag: &Flag) {
    if !matches!(flag.value, Value::Required(_) | Value::Word(_)) {
        return;
    }
    let offer = match (flag.choices, flag.completes) {
        ([], Completes::Nothing) => String::new(),
        ([], Completes::Sessions) => {
            "_pi_dynamic sessions; (( ${#COMPREPLY[@]} )) || { compopt -o filenames 2> /dev/null; \
             mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); }; "
                .to_owned()
        }
        ([], kind) if kind.dynamic().is_some() => {
            format!("_pi_dynamic {}; ", kind.dynamic().unwrap_or_default())
        }
        ([], Completes::Files) => {
            "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); "
                .to_owned()
        }
        ([], _) => {
            "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); "
                .to_owned()
        }
        (choices, _) => {
            format!("mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$cur\"); ", choices.join(" "))
        }
    };
    let path = node.path.join(" ");
    let patterns: Vec<String> =
        names(flag).iter().map(|name| format!("\"{path}:{name}\"")).collect();
    script.push_str(&format!("        {}) {offer}return ;;\n", patterns.join(" | ")));
}

fn names(flag: &Flag) -> Vec<String> {
    let short = flag.short.map(|short| format!("-{short}"));
    std::iter::once(format!("--{}", flag.long)).chain(short).collect()
}
