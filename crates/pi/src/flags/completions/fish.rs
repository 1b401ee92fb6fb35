//! Completions for fish: one line per option and command, each with its condition.

use super::{Node, nodes};
use crate::flags::{Completes, Flag, Value};

const HEAD: &str = r#"# Completions of pi for fish.
function __pi_words
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        echo $word
    end
end
# Tests whether the words so far are exactly the arguments.
function __pi_at
    set -l words (__pi_words)
    test "$words" = "$argv"
end
# Tests whether the words so far begin with the arguments.
function __pi_after
    set -l words (__pi_words)
    string match -q -- "$argv *" "$words "
end
# Lists what pi itself knows: models, sessions, providers, tools, settings.
function __pi_dynamic
    set -l words (commandline -opc)
    command $words[1] __complete $argv[1] (commandline -ct) 2> /dev/null
end
function __pi_first
    test (count (commandline -opc)) -eq 1
end
"#;

pub(super) fn script() -> String {
    let mut script = HEAD.to_owned();
    for node in nodes() {
        let path = node.path.join(" ");
        let here = match (node.path.is_empty(), node.commands.is_empty()) {
            (true, _) => "not __pi_command".to_owned(),
            (_, true) => format!("__pi_after {path}"),
            (_, false) => format!("__pi_at {path}"),
        };
        if path.is_empty() {
            script.push_str(&root(&node));
        }
        for command in node.commands {
            let when = if path.is_empty() { "__pi_first" } else { &here };
            script.push_str(&format!(
                "complete -c pi -n '{when}' -f -a {} -d '{}'\n",
                command.name,
                quoted(command.help)
            ));
        }
        if !node.words.choices.is_empty() {
            let choices = node.words.choices.join(" ");
            script.push_str(&format!("complete -c pi -n '{here}' -f -a '{choices}'\n"));
        }
        if let Some(kind) = node.words.completes.dynamic() {
            let no_files = if node.takes_files() { "" } else { " -f" };
            script.push_str(&format!(
                "complete -c pi -n '{here}'{no_files} -a '(__pi_dynamic {kind})'\n"
            ));
        }
        node.flags.iter().for_each(|flag| option(&mut script, &here, flag));
    }
    script
}

/// Defines the function that tests whether a command was given.
fn root(node: &Node) -> String {
    let names: Vec<&str> = node.commands.iter().map(|command| command.name).collect();
    format!(
        "function __pi_command\n    set -l words (commandline -opc)\n    contains -- \"$words[2]\" {}\nend\n",
        names.join(" ")
    )
}

fn option(script: &mut String, here: &str, flag: &Flag) {
    script.push_str(&format!("complete -c pi -n '{here}' -l {}", flag.long));
    // fish calls short options of several letters old-style options.
    if let Some(short) = flag.short {
        script.push_str(&format!(" -{} {short}", if short.len() == 1 { 's' } else { 'o' }));
    }
    let takes_value = matches!(flag.value, Value::Required(_) | Value::Word(_));
    match (flag.choices, flag.completes) {
        (choices @ [_, ..], _) => script.push_str(&format!(" -x -a '{}'", choices.join(" "))),
        ([], Completes::Directories) => script.push_str(" -x -a '(__fish_complete_directories)'"),
        ([], Completes::Files) if takes_value => script.push_str(" -r -F"),
        ([], Completes::Sessions) => script.push_str(" -r -F -a '(__pi_dynamic sessions)'"),
        ([], kind) if kind.dynamic().is_some() => {
            let kind = kind.dynamic().unwrap_or_default();
            script.push_str(&format!(" -x -a '(__pi_dynamic {kind})'"));
        }
        _ if takes_value => script.push_str(" -x"),
        _ => {}
    }
    script.push_str(&format!(" -d '{}'\n", quoted(flag.help)));
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}
