//! Changes of files beside other calls and other programs.

use std::fs;
use std::sync::Arc;

use pi_agent::{Agent, FnTool, RunSettings};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::CancelToken;
use pi_tools::{ChangedFilePolicy, Host, Workspace, edit, read, toolset, write};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{call, call_with, text, workspace};

fn replacement(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] })
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_on_one_file_are_serialized() {
    let directory = TempDir::new().unwrap();
    let lines: String = (0..40).map(|number| format!("<{number}>\n")).collect();
    fs::write(directory.path().join("f"), lines).unwrap();
    std::os::unix::fs::symlink("f", directory.path().join("link")).unwrap();
    let edit = Arc::new(edit(workspace(directory.path())));
    let calls: Vec<_> = (0..40)
        .map(|number| {
            let edit = Arc::clone(&edit);
            let name = if number % 2 == 0 { "f" } else { "./link" };
            let arguments = replacement(name, &format!("<{number}>"), &format!("({number})"));
            tokio::spawn(async move { text(&call(&*edit, &arguments).await) })
        })
        .collect();
    for call in calls {
        let answer = call.await.unwrap();
        assert!(answer.starts_with("Successfully replaced 1 block(s)"), "{answer}");
    }
    let expected: String = (0..40).map(|number| format!("({number})\n")).collect();
    assert_eq!(fs::read_to_string(directory.path().join("f")).unwrap(), expected);
}

/// Runs one turn with these calls through an agent.
async fn turn(directory: &std::path::Path, calls: &[(&str, Value)]) {
    let faux = Faux::new();
    let reply = calls
        .iter()
        .fold(Reply::new(), |reply, (tool, arguments)| reply.tool_call(*tool, arguments));
    faux.push(reply);
    faux.push(Reply::new().text("done"));
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = toolset::all(&workspace(directory));
    Agent::new(Arc::new(faux), settings).prompt("go").await.unwrap();
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_turn_change_a_file_in_their_order() {
    for round in 0..200 {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join("d")).unwrap();
        std::os::unix::fs::symlink("d", directory.path().join("link")).unwrap();
        let absolute = directory.path().join("d/new/f");
        let calls = [
            ("write", json!({ "path": "d/new/f", "content": "one" })),
            ("edit", replacement("link/new/f", "one", "two")),
            ("write", json!({ "path": "g", "content": "A" })),
            ("edit", replacement(absolute.to_str().unwrap(), "two", "three")),
            ("write", json!({ "path": "./g", "content": "B" })),
        ];
        turn(directory.path(), &calls).await;
        assert_eq!(fs::read_to_string(&absolute).unwrap(), "three", "round {round}");
        assert_eq!(fs::read_to_string(directory.path().join("g")).unwrap(), "B", "round {round}");
    }
}

/// The steps before a change, and the notice in its result.
struct Case {
    name: &'static str,
    before: &'static [&'static str],
    noticed: Option<&'static str>,
}

const CASES: &[Case] = &[
    Case { name: "never seen", before: &["other"], noticed: None },
    Case { name: "read", before: &["read"], noticed: None },
    Case { name: "read, changed", before: &["read", "other"], noticed: Some("changed") },
    Case { name: "only touched", before: &["read", "same"], noticed: None },
    Case { name: "read again", before: &["read", "other", "read"], noticed: None },
    Case { name: "written", before: &["write"], noticed: None },
    Case { name: "written, changed", before: &["write", "other"], noticed: Some("changed") },
    Case { name: "edited, changed", before: &["edit", "other"], noticed: Some("changed") },
    Case { name: "read, deleted", before: &["read", "delete"], noticed: Some("deleted") },
    Case { name: "known to be deleted", before: &["read", "delete", "read"], noticed: None },
];

#[tokio::test]
async fn changes_by_other_programs_are_noticed() {
    for (case, refuse, by_edit) in CASES
        .iter()
        .flat_map(|case| [(case, false), (case, true)])
        .flat_map(|(case, refuse)| [(case, refuse, false), (case, refuse, true)])
    {
        let deleted = case.before.contains(&"delete");
        if by_edit && deleted {
            continue;
        }
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("f");
        fs::write(&file, "one two\n").unwrap();
        let rule = if refuse { ChangedFilePolicy::Refuse } else { ChangedFilePolicy::Note };
        let workspace =
            Workspace::new(Arc::new(Host::default()), directory.path().to_owned(), None);
        let workspace = Arc::new(workspace.with_changed_files(rule));
        let tools: [FnTool; 3] = [
            read(Arc::clone(&workspace)),
            write(Arc::clone(&workspace)),
            edit(Arc::clone(&workspace)),
        ];
        for step in case.before {
            match *step {
                "read" => drop(call(&tools[0], &json!({ "path": "f" })).await),
                "write" => {
                    let content = json!({ "path": "f", "content": "one three\n" });
                    call(&tools[1], &content).await.unwrap();
                }
                "edit" => drop(call(&tools[2], &replacement("f", "two", "2")).await.unwrap()),
                "same" => fs::write(&file, "one two\n").unwrap(),
                "delete" => fs::remove_file(&file).unwrap(),
                _ => fs::write(&file, "one else\n").unwrap(),
            }
        }
        let before = fs::read(&file).ok();
        let (answer, done) = if by_edit {
            let answer = call(&tools[2], &replacement("f", "one", "uno")).await;
            (text(&answer), "Successfully replaced 1 block(s) in f.")
        } else {
            let answer = call(&tools[1], &json!({ "path": "f", "content": "new\n" })).await;
            (text(&answer), "Successfully wrote to f")
        };
        let sentence = case.noticed.map(|what| {
            format!("f was {what} outside of this session since it was last read or written.")
        });
        let expected = match sentence {
            None => done.to_owned(),
            Some(sentence) if refuse => {
                format!(
                    "error: {sentence} Nothing was written. Read the file again before you change it."
                )
            }
            Some(sentence) => format!("{done}\n\n[{sentence}]"),
        };
        let (name, refused) = (case.name, refuse && case.noticed.is_some());
        assert_eq!(answer, expected, "{name}, refuse {refuse}, edit {by_edit}");
        assert_eq!(fs::read(&file).ok() == before, refused, "{name}, refuse {refuse}");
    }
}

#[tokio::test]
async fn an_aborted_call_changes_nothing() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("f"), "a\n").unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let workspace = workspace(directory.path());
    let (write, edit) = (write(Arc::clone(&workspace)), edit(workspace));
    let calls = [
        (&write, json!({ "path": "f", "content": "b\n" })),
        (&write, json!({ "path": "d/f", "content": "b\n" })),
        (&edit, replacement("f", "a", "b")),
    ];
    for (tool, arguments) in calls {
        let result = call_with(tool, &arguments, cancel.clone()).await;
        assert_eq!(text(&result), "error: Operation aborted", "{arguments}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("f")).unwrap(), "a\n");
    assert!(!directory.path().join("d").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn attributes_of_a_file_are_kept() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["plain", "hard", "owned"] {
        fs::write(path(name), "old, and longer than what follows\n").unwrap();
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o750)).unwrap();
    }
    fs::hard_link(path("hard"), path("other name")).unwrap();
    // Only root can change owners; for other users this file is like the first.
    let _ = chown(path("owned"), Some(4711), Some(4712));
    let write = write(workspace(directory.path()));
    for name in ["plain", "hard", "owned"] {
        let before = fs::metadata(path(name)).unwrap();
        call(&write, &json!({ "path": name, "content": "new\n" })).await.unwrap();
        let after = fs::metadata(path(name)).unwrap();
        let attributes = |data: &fs::Metadata| (data.mode(), data.uid(), data.gid(), data.nlink());
        assert_eq!(attributes(&after), attributes(&before), "{name}");
        assert_eq!(fs::read_to_string(path(name)).unwrap(), "new\n", "{name}");
    }
    assert_eq!(fs::read_to_string(path("other name")).unwrap(), "new\n");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4, "no temporary file is left");
}

#[tokio::test]
async fn a_preview_is_the_diff_of_the_edit() {
    let cases = [
        ("one\ntwo\nthree\n", replacement("f", "two", "2")),
        ("one\r\ntwo\r\n", replacement("f", "one\ntwo", "1\n2")),
        ("“one”\n", replacement("f", "\"one\"", "two")),
        ("one\n", json!({ "path": "f", "oldText": "one", "newText": "two" })),
        ("one\n", replacement("f", "missing", "two")),
        ("one one\n", replacement("f", "one", "two")),
        ("one\n", replacement("f", "one", "one")),
        ("one\n", json!({ "path": "f", "edits": [] })),
        ("one\n", json!({ "path": "f" })),
    ];
    for (content, arguments) in cases {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("f"), content).unwrap();
        let preview = pi_tools::preview_edit(arguments.as_object().unwrap(), content.as_bytes());
        let edit = edit(workspace(directory.path()));
        let ran = call(&edit, &arguments).await.ok();
        let diff = ran.and_then(|output| output.details).map(|details| details["diff"].clone());
        assert_eq!(preview.map(Value::String), diff, "{arguments}");
    }
}

#[tokio::test]
async fn an_edit_that_matches_nothing_shows_what_the_file_contains() {
    let directory = TempDir::new().unwrap();
    let long: String = (0..500).map(|number| format!("value_{number} = {number}\n")).collect();
    fs::write(directory.path().join("small"), "def area(w, h):\n    return w + h\n").unwrap();
    fs::write(directory.path().join("empty"), "\n").unwrap();
    fs::write(directory.path().join("long"), long).unwrap();
    let all = workspace(directory.path());
    let hidden = (*all).clone().with_unreadable(Arc::new(|_: &std::path::Path| true));
    let cases: [(&str, &str, &[&str], &[&str]); 4] = [
        (
            "small",
            "def area(self):",
            &["small contains:\n\ndef area(w, h):\n    return w + h\n"],
            &[],
        ),
        ("empty", "a", &["empty is empty"], &[]),
        ("long", "value_250 = 1", &["has in lines 245 to 257", "value_250 = 250"], &["value_20 ="]),
        ("long", "zebra", &["Could not find the exact text in long."], &["value_"]),
    ];
    for (file, old, shown, absent) in cases {
        let edit = edit(Arc::clone(&all));
        let answer = text(&call(&edit, &replacement(file, old, "x")).await);
        for expected in shown {
            assert!(answer.contains(expected), "{file}, {old}: {answer}");
        }
        for unexpected in absent {
            assert!(!answer.contains(unexpected), "{file}, {old}: {answer}");
        }
    }
    let answer = text(&call(&edit(Arc::new(hidden)), &replacement("small", "x", "y")).await);
    assert!(!answer.contains("def area"), "{answer}");
}
