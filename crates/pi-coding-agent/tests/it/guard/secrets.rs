//! Credentials in the files that an agent works with.

use std::fs;
use std::sync::{Arc, Mutex};

use pi_coding_agent::session::{BashOptions, SessionEvent};
use serde_json::json;

use super::GuardTest;

#[tokio::test]
async fn a_secret_in_a_file_is_redacted_and_preserved() {
    let token = format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let test = GuardTest::new(json!({}), "");
    let file = test.env.write("home/proj/.env", format!("GITHUB_TOKEN={token}\nPORT=80\n"));
    let session = test.session().await;
    let events: Arc<Mutex<String>> = Arc::default();
    let recorded = Arc::clone(&events);
    session
        .subscribe(move |event| {
            recorded.lock().unwrap().push_str(&serde_json::to_string(event).unwrap());
        })
        .forever();
    let (seen, failed) = test.call(&session, "read", json!({"path": ".env"})).await;
    assert!(!failed && !seen.contains(&token) && seen.contains("PORT=80"), "{seen}");

    // A file that the model writes back keeps the secret.
    let changed = seen.replace("PORT=80", "PORT=81");
    let (text, failed) =
        test.call(&session, "write", json!({"path": ".env", "content": changed})).await;
    assert!(!failed, "{text}");
    let expected = format!("GITHUB_TOKEN={token}\nPORT=81\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let line = seen.lines().next().unwrap();
    let edits = json!([{"oldText": line, "newText": format!("X=1\n{line}")}]);
    let (text, failed) = test.call(&session, "edit", json!({"path": ".env", "edits": edits})).await;
    assert!(!failed && !text.contains(&token), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("X=1\n{expected}"));

    // An unknown placeholder is not written to a file.
    let unknown = json!({"path": ".env", "content": "A=[masked:github-token:000000]\n"});
    let (text, failed) = test.call(&session, "write", unknown).await;
    assert!(failed, "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("X=1\n{expected}"));

    // A command with a placeholder is not run; one that reads the file is.
    let (text, failed) = test.bash(&session, &format!("echo '{line}'")).await;
    assert!(failed && text.contains("was not run"), "{text}");
    let (text, failed) = test.bash(&session, ". ./.env && echo ${#GITHUB_TOKEN}; cat .env").await;
    assert!(!failed && text.contains("40") && !text.contains(&token), "{text}");

    let user = session.execute_bash("cat .env", BashOptions::default()).await.unwrap();
    assert!(!user.output.contains(&token), "{}", user.output);
    let saved = fs::read_to_string(session.file().unwrap()).unwrap();
    assert!(!saved.contains(&token) && !events.lock().unwrap().contains(&token));
}

/// The second half is written when the output before the first half has arrived.
#[tokio::test]
async fn a_secret_that_is_written_in_two_pieces_is_redacted_while_it_arrives() {
    let token = format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let (first, second) = token.split_at(12);
    let test = GuardTest::new(json!({}), "");
    let go = test.env.path("home/proj/go");
    let session = test.session().await;
    let output: Arc<Mutex<String>> = Arc::default();
    let recorded = Arc::clone(&output);
    session
        .subscribe(move |event| {
            if let SessionEvent::BashExecutionUpdate { delta, .. } = event {
                recorded.lock().unwrap().push_str(delta);
                fs::write(&go, "").unwrap();
            }
        })
        .forever();
    let command = format!(
        "printf 'begin\n{first}'; until [ -e go ]; do :; done; printf '{second} end'; exit 3"
    );
    let result = session.execute_bash(&command, BashOptions::default()).await.unwrap();
    assert_eq!(result.exit_code, Some(3));
    let output = output.lock().unwrap();
    assert_eq!(*output, result.output);
    assert!(output.starts_with("begin\n[masked:") && output.ends_with("] end"), "{output}");
}

#[tokio::test]
async fn a_command_with_a_nul_character_is_refused_with_a_reason() {
    let test = GuardTest::new(json!({}), "");
    let session = test.session().await;
    let (text, failed) = test.bash(&session, "echo a\0b").await;
    assert!(failed && text.contains("NUL character"), "{text}");
    let user = session.execute_bash("echo a\0b", BashOptions::default()).await;
    assert!(user.unwrap_err().to_string().contains("NUL character"));
}
