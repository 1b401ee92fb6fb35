//! Completions for fish: one line per option and command, each with the condition it is for.

use super::{Place, places};
use crate::flags::{Completes, Flag, Value};

const HEAD: &str = r#"# Completions of pi for fish.
function __pi_words
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        echo $word
    end
end
# The words so far are exactly these.
function __pi_at
    set -l words (__pi_words)
    test "$words" = "$argv"
end
# The words so far begin with these.
function __pi_after
    set -l words (__pi_words)
    string match -q -- "$argv *" "$words "
end
function __pi_first
    test (count (commandline -opc)) -eq 1
end
"#;

pub(super) fn script() -> String {
    let mut script = HEAD.to_owned();
    for place in places() {
        let path = place.path.join(" ");
        let here = match (place.path.is_empty(), place.commands.is_empty()) {
            (true, _) => "not __pi_command".to_owned(),
            (_, true) => format!("__pi_after {path}"),
            (_, false) => format!("__pi_at {path}"),
        };
        if path.is_empty() {
            script.push_str(&root(&place));
        }
        for command in place.commands() {
            let when = if path.is_empty() { "__pi_first" } else { &here };
            script.push_str(&format!(
                "complete -c pi -n '{when}' -f -a {} -d '{}'\n",
                command.name,
                quoted(command.help)
            ));
        }
        if !place.words.choices.is_empty() {
            let choices = place.words.choices.join(" ");
            script.push_str(&format!("complete -c pi -n '{here}' -f -a '{choices}'\n"));
        }
        place.flags.iter().for_each(|flag| option(&mut script, &here, flag));
    }
    script
}

/// Whether a command was named at all.
fn root(place: &Place) -> String {
    let names: Vec<&str> = place.commands().map(|command| command.name).collect();
    format!(
        "function __pi_command\n    set -l words (commandline -opc)\n    contains -- \"$words[2]\" {}\nend\n",
        names.join(" ")
    )
}

fn option(script: &mut String, here: &str, flag: &Flag) {
    script.push_str(&format!("complete -c pi -n '{here}' -l {}", flag.long));
    // Short options of several letters are what fish calls old-style options.
    if let Some(short) = flag.short {
        script.push_str(&format!(" -{} {short}", if short.len() == 1 { 's' } else { 'o' }));
    }
    let takes_value = matches!(flag.value, Value::Required(_) | Value::Word(_));
    match (flag.choices, flag.completes) {
        (choices @ [_, ..], _) => script.push_str(&format!(" -x -a '{}'", choices.join(" "))),
        ([], Completes::Directories) => script.push_str(" -x -a '(__fish_complete_directories)'"),
        ([], Completes::Files) if takes_value => script.push_str(" -r -F"),
        _ if takes_value => script.push_str(" -x"),
        _ => {}
    }
    script.push_str(&format!(" -d '{}'\n", quoted(flag.help)));
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}
