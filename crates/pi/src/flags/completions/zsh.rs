//! Completions for zsh: one function per node, built on `_arguments`.

use super::{Node, nodes};
use crate::flags::{Completes, Flag, Value};

const HEAD: &str = r#"#compdef pi
# Completions of pi for zsh.

# Adds what pi itself lists: models, sessions, providers, tools, settings.
_pi_dynamic() {
    local value about
    local -a values
    while IFS=$'\t' read -r value about; do
        values+=("${value//:/\\:}${about:+:$about}")
    done < <(${service:-pi} __complete $1 "$PREFIX" 2> /dev/null)
    _describe -t $1 $1 values
}
_pi_session_or_file() {
    _pi_dynamic sessions || _files
}
"#;

pub(super) fn script() -> String {
    let mut script = HEAD.to_owned();
    for node in nodes() {
        function(&mut script, &node);
    }
    // The file may be loaded as a function, or sourced.
    script.push_str("\nif [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n    _pi \"$@\"\nelse\n    compdef _pi pi\nfi\n");
    script
}

fn function(script: &mut String, node: &Node) {
    let name = function_name(&node.path);
    script.push_str(&format!(
        "\n{name}() {{\n    local curcontext=\"$curcontext\" state line\n    _arguments -C"
    ));
    for flag in &node.flags {
        script.push_str(&format!(" \\\n        {}", option(flag)));
    }
    let names: Vec<&str> = node.commands.iter().map(|command| command.name).collect();
    let anything = action(node.words.choices, node.words.completes);
    if names.is_empty() {
        if !node.words.usage.is_empty() {
            script.push_str(&format!(" \\\n        '*:{}:{anything}'", quoted(node.words.usage)));
        }
        script.push_str("\n}\n");
        return;
    }
    script.push_str(" \\\n        '1: :->command' \\\n        '*:: :->rest'\n    case $state in\n    command)\n        local -a commands=(\n");
    for command in node.commands {
        script.push_str(&format!("            '{}:{}'\n", command.name, quoted(command.help)));
    }
    script.push_str("        )\n        _describe command commands\n");
    if node.path.is_empty() {
        script.push_str("        _files\n        compset -P @ && _files\n");
    }
    script.push_str("        ;;\n    rest)\n        case $line[1] in\n");
    // `pi help` takes command names but has no subcommands.
    if node.path != ["help"] {
        for inner in names {
            let path = [node.path.as_slice(), &[inner]].concat();
            script.push_str(&format!("        {inner}) {} ;;\n", function_name(&path)));
        }
    }
    script.push_str("        *) compset -P @; _files ;;\n        esac\n        ;;\n    esac\n}\n");
}

fn function_name(path: &[&str]) -> String {
    std::iter::once("_pi").chain(path.iter().copied()).collect::<Vec<_>>().join("_")
}

/// Returns the action of `_arguments` for a value.
fn action(choices: &[&str], completes: Completes) -> String {
    match (choices, completes) {
        ([], Completes::Nothing) => String::new(),
        ([], Completes::Files) => "_files".to_owned(),
        ([], Completes::Directories) => "_files -/".to_owned(),
        // After a space, `_arguments` adds no arguments of its own.
        ([], Completes::Sessions) => " _pi_session_or_file".to_owned(),
        ([], kind) => format!(" _pi_dynamic {}", kind.dynamic().unwrap_or_default()),
        (choices, _) => format!("({})", choices.join(" ")),
    }
}

/// Returns the specification of an option for `_arguments`.
fn option(flag: &Flag) -> String {
    let action = action(flag.choices, flag.completes);
    let value = match flag.value {
        Value::None => String::new(),
        Value::Required(name) | Value::Word(name) => format!(":{}:{action}", quoted(name)),
        Value::Optional(name) => format!("::{}:{action}", quoted(name)),
    };
    let help = quoted(flag.help);
    let takes = if flag.value == Value::None { "" } else { "=" };
    match (flag.short, flag.repeats) {
        (None, true) => format!("'*--{}{takes}[{help}]{value}'", flag.long),
        (None, false) => format!("'--{}{takes}[{help}]{value}'", flag.long),
        (Some(short), true) => {
            format!("'*'{{-{short},--{}{takes}}}'[{help}]{value}'", flag.long)
        }
        (Some(short), false) => {
            let both = format!("-{short} --{}", flag.long);
            format!("'({both})'{{-{short},--{}{takes}}}'[{help}]{value}'", flag.long)
        }
    }
}

/// Escapes a text for a single-quoted specification of `_arguments`.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''").replace(':', "\\:").replace('[', "\\[").replace(']', "\\]")
}
