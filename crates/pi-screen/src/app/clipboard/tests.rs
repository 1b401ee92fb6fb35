//! Messages after copying, and what is pasted.

use std::path::Path;

use pi_tui::terminal::clipboard::{Attempt, Claim, Command, Encoding, Output, Read};

use super::programs::{self, Copied};
use super::{keep_image, message, word};

fn run(program: &'static str, arguments: &[&'static str], claim: Claim) -> Attempt {
    let command = Command { program, arguments: arguments.to_vec() };
    Attempt::Run { command, encoding: Encoding::Utf8, claim }
}

#[tokio::test]
async fn the_first_program_that_succeeds_is_the_last_one_that_runs() {
    let missing = run("pi-no-such-program", &[], Claim::Copied);
    let fails = run("sh", &["-c", "cat >/dev/null; exit 1"], Claim::Copied);
    let deaf = run("sh", &["-c", "exit 0"], Claim::Sent);
    let works = run("sh", &["-c", "test \"$(cat)\" = text"], Claim::Copied);
    let table = [
        (vec![missing.clone(), fails.clone(), works.clone(), Attempt::Osc52], Some("sh"), false),
        (vec![missing, Attempt::Osc52], None, true),
        (vec![Attempt::Osc52, works], Some("sh"), true),
        (vec![fails], None, false),
    ];
    for (attempts, by, wants_terminal) in table {
        let copied = programs::copy("text".to_owned(), attempts).await;
        assert_eq!(copied, Copied { by, sent_by: None, wants_terminal });
    }
    let copied = programs::copy(String::new(), vec![deaf, Attempt::Osc52]).await;
    assert_eq!(copied, Copied { by: None, sent_by: Some("sh"), wants_terminal: true });
}

#[test]
fn a_copy_is_claimed_only_where_a_program_confirmed_it() {
    let by = Copied { by: Some("wl-copy"), ..Copied::default() };
    assert_eq!(message(&by, false), Ok("Copied"));
    assert_eq!(message(&Copied::default(), true), Ok("Sent to the terminal's clipboard"));
    assert!(message(&Copied::default(), false).is_err());
}

#[tokio::test]
async fn programs_are_asked_until_one_has_something() {
    let read = |arguments: &[&'static str]| Read {
        command: Command { program: "sh", arguments: arguments.to_vec() },
        output: Output::Plain,
    };
    let mut tried = Vec::new();
    let reads = vec![read(&["-c", "exit 1"]), read(&["-c", "printf hi"]), read(&["-c", "echo no"])];
    assert_eq!(programs::read(reads, &mut tried).await.as_deref(), Some(&b"hi"[..]));
    assert_eq!(tried, ["sh"]);
    assert_eq!(programs::read(Vec::new(), &mut tried).await, None);
}

#[test]
fn an_image_gets_a_file_and_a_text_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 0, 2, 0, 0, 0, 3, 8, 6, 0, 0, 0]);
    let path = keep_image(&png, directory.path()).unwrap().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("pi-clipboard-") && name.ends_with(".png"), "{name}");
    assert_eq!(std::fs::read(&path).unwrap(), png);
    assert_eq!(keep_image(b"text", directory.path()).unwrap(), None);
}

#[test]
fn paths_with_spaces_are_quoted() {
    let words = ["/a/b.png", "/a/c d.png"].map(|path| word(Path::new(path)));
    assert_eq!(words, ["/a/b.png", "\"/a/c d.png\""]);
}
