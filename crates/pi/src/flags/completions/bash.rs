//! Completions for bash, without the functions of bash-completion, which may not be installed.

use super::{Node, nodes};
use crate::flags::{Completes, Flag, Value};

const HEAD: &str = r#"# Completions of pi for bash.
_pi() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="" path="" word
    (( COMP_CWORD > 0 )) && prev="${COMP_WORDS[COMP_CWORD - 1]}"
    # bash splits --option=value into three words.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev="${COMP_WORDS[COMP_CWORD - 2]}"
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
    local commands="" flags="" words="" files=""
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
        let commands: Vec<&str> = node.commands().map(|command| command.name).collect();
        let flags: Vec<String> = node.flags.iter().flat_map(names).collect();
        let settings = [
            ("commands", commands.join(" ")),
            ("flags", flags.join(" ")),
            ("words", node.words.choices.join(" ")),
            ("files", if node.words.completes == Completes::Files { "yes" } else { "" }.to_owned()),
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
        ([], Completes::Files) => {
            "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); "
                .to_owned()
        }
        ([], Completes::Directories) => {
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
