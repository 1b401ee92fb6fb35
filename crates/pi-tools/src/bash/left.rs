//! The note about processes that a command left running, which are ended with it.
//!
//! Without it, model and user would believe that a server runs that was started with `&`.

use pi_base::text::line;

/// Number of processes that the note names.
const MAX_NAMES: usize = 3;

/// Length of a name.
const MAX_NAME: usize = 60;

/// Returns the note for these command lines; `None` if there are none. `can_keep` is true if the
/// model can start background processes.
pub(super) fn note(commands: &[String], can_keep: bool) -> Option<String> {
    if commands.is_empty() {
        return None;
    }
    let mut names: Vec<String> =
        commands.iter().take(MAX_NAMES).map(|command| line(command, MAX_NAME)).collect();
    if let more @ 1.. = commands.len().saturating_sub(MAX_NAMES) {
        names.push(format!("and {more} more"));
    }
    let subject = match commands.len() {
        1 => "1 process that the command left running was ended".to_owned(),
        count => format!("{count} processes that the command left running were ended"),
    };
    let hint = if can_keep { " Use background: true to keep a command running." } else { "" };
    Some(format!("{subject}: {}.{hint}", names.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_a_few_processes_in_one_line() {
        let commands = |count: usize| vec!["sleep\n\u{1b}[0m 47".to_owned(); count];
        assert_eq!(note(&commands(0), true), None);
        assert_eq!(
            note(&commands(1), false).unwrap(),
            "1 process that the command left running was ended: sleep [0m 47."
        );
        let many = note(&commands(5), true).unwrap();
        assert!(many.starts_with("5 processes that the command left running were ended: "));
        assert!(many.ends_with("; and 2 more. Use background: true to keep a command running."));
    }
}
