//! The socket: rights of every command, places of a session, bounded frames, and its end.

use crate::client::ClientError;
use pi_ai::faux::Reply;
use pi_host::OpenPlan;
use pi_rpc::Command;
use pi_serve::entrance::Right;
use serde_json::{Value, json};

use crate::home::{Client, Home, View, entries};

/// Returns a valid form of a command.
fn example(name: &str) -> Value {
    let mut command = json!({
        "type": name, "message": "x", "provider": "p", "modelId": "m", "level": "low", "mode": "all",
        "enabled": true, "command": "true", "entryId": "e", "name": "n", "sessionPath": "/x",
    });
    if name == "bash" {
        command["command"] = "touch made".into();
    }
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_viewing_changes_nothing_with_any_command() {
    let home = Home::new();
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let session = driver.open().await;
    home.model.push(Reply::new().text("answer"));
    driver.prompt(&session, "question").await;
    let file = server.host.with_log(&session).unwrap().session().unwrap().file().unwrap();
    let before = (entries(&file), driver.ask(json!({ "type": "get_state" })).await);
    let mut viewer = server.client_with("visitor", Right::View).await;
    viewer.ask(json!({ "type": "attach", "sessionId": session })).await;
    let mut refused = Vec::new();
    for name in Command::names() {
        let response = viewer.request(example(name)).await;
        if response["success"] == false {
            let error = response["error"].as_str().unwrap();
            assert!(error.contains("the token \"visitor\" may only view"), "{name}: {error}");
            refused.push(*name);
        }
    }
    let allowed: Vec<&&str> =
        Command::names().iter().filter(|name| !refused.contains(*name)).collect();
    let expected = [
        "get_state",
        "get_available_models",
        "get_available_thinking_levels",
        "get_session_stats",
        "get_fork_messages",
        "get_entries",
        "get_tree",
        "get_last_assistant_text",
        "get_messages",
        "get_commands",
        "hello",
        "list_sessions",
    ];
    assert_eq!(allowed, expected.iter().collect::<Vec<_>>());
    let approve = json!({ "type": "attach", "sessionId": session, "approvals": true });
    for command in [
        json!({ "type": "open_session" }),
        json!({ "type": "take_over", "sessionId": session }),
        json!({ "type": "undo", "what": "both" }),
        json!({ "type": "approval_response", "id": "x", "decision": "once" }),
        json!({ "type": "extension_ui_response", "id": "x", "value": "y" }),
        approve,
    ] {
        let response = viewer.request(command.clone()).await;
        assert!(response["error"].to_string().contains("may only view"), "{command}: {response}");
        refused.push("of the server");
    }
    assert!(!home.project().join("made").exists());
    assert_eq!((entries(&file), driver.ask(json!({ "type": "get_state" })).await), before);
    let audit = server.audit();
    let lines =
        audit.iter().filter(|line| line["who"] == "visitor" && line["outcome"] == "refused");
    assert_eq!(lines.count(), refused.len(), "every attempt is recorded");
    // A path of a client is written by administrators only, and opened only if it is a session.
    let export = json!({ "type": "export_html", "outputPath": "/tmp/x.html" });
    let response = driver.request(export).await;
    assert!(response["error"].as_str().unwrap().contains("needs admin"), "{response}");
    let switch = json!({ "type": "switch_session", "sessionPath": "/etc/passwd" });
    assert_eq!(driver.request(switch).await["success"], false);
    // A command of a user runs without a question, so it needs the right to answer one.
    let response = driver.request(example("bash")).await;
    assert!(response["error"].as_str().unwrap().contains("needs approve"), "{response}");
    assert!(!home.project().join("made").exists());
    let mut approver = server.client_with("approver", Right::Approve).await;
    approver.ask(json!({ "type": "attach", "sessionId": session })).await;
    assert_eq!(approver.request(example("bash")).await["success"], true);
    assert!(home.project().join("made").exists());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_one_session_reaches_no_other() {
    let home = Home::new();
    let server = home.serve().await;
    let mut driver = server.client_with("driver", Right::Drive).await;
    let (one, other) = (driver.open().await, driver.open().await);
    for session in [&one, &other] {
        home.model.push(Reply::new().text("answer"));
        driver.prompt(session, "question").await;
    }
    let mut guest = server.client(&server.token("guest", Right::Drive, Some(&one))).await;
    guest.ask(json!({ "type": "attach", "sessionId": one })).await;
    guest.ask(json!({ "type": "get_messages" })).await;
    let file = server.host.with_log(&other).unwrap().session().unwrap().file().unwrap();
    for command in [
        json!({ "type": "attach", "sessionId": other }),
        json!({ "type": "get_messages", "sessionId": other }),
        json!({ "type": "prompt", "message": "x", "sessionId": other }),
        json!({ "type": "switch_session", "sessionPath": file }),
        json!({ "type": "list_sessions" }),
        json!({ "type": "new_session" }),
        json!({ "type": "open_session" }),
        json!({ "type": "take_over", "sessionId": other }),
    ] {
        let response = guest.request(command.clone()).await;
        assert_eq!(response["success"], false, "{command}");
    }
    let waiting = guest.ask(json!({ "type": "list_needs_you" })).await;
    assert_eq!(waiting["questions"], json!([]));
    // The session moves to another log, which the guest does not reach.
    driver.ask(json!({ "type": "new_session", "sessionId": one })).await;
    let closed = guest.until(|frame| frame["type"] == "closed").await;
    assert!(closed["reason"].as_str().unwrap().contains("replaced"), "{closed}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_follow_a_session_that_is_replaced() {
    let home = Home::new();
    let server = home.serve().await;
    let mut client = server.client_with("driver", Right::Drive).await;
    let first = client.open().await;
    let mut view = View::of(&first);
    for number in 0..2 {
        home.model.push(Reply::new().text("answer"));
        client.ask(json!({ "type": "prompt", "message": "question" })).await;
        loop {
            let frame = match client.frames.pop_front() {
                Some(frame) => frame,
                None => client.receive().await,
            };
            view.take(&frame);
            if frame["event"]["type"] == "agent_settled" {
                break;
            }
        }
        if number == 0 {
            // Entries of the end of a run may follow its last event.
            client.ask(json!({ "type": "new_session" })).await;
        }
    }
    let hosted = server.host.with_log(&view.session).unwrap();
    assert_ne!(view.session, first);
    let file = hosted.session().unwrap().file().unwrap();
    while view.entries.len() < entries(&file).len() {
        let frame = client.receive().await;
        view.take(&frame);
    }
    assert_eq!(view.entries, entries(&file));
    // The old log is a session of its own again.
    let data = client.ask(json!({ "type": "attach", "sessionId": first })).await;
    assert_eq!(data["place"], "stored");
    server.stop().await;
}

/// Reads frames into a view until it has a number of entries and the session is at a place.
async fn read_until(
    client: &mut Client,
    view: &mut View,
    length: usize,
    place: &mut String,
    wanted: &str,
) {
    while view.entries.len() < length || place != wanted {
        let frame = match client.frames.pop_front() {
            Some(frame) => frame,
            None => client.receive().await,
        };
        view.take(&frame);
        if frame["type"] == "session_state" {
            frame["state"].as_str().unwrap().clone_into(place);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_another_program_is_followed_and_taken_over() {
    let home = Home::new();
    let other = home.host();
    let plan = OpenPlan::new(home.project());
    let selector = pi_coding_agent::SessionSelector::New;
    let elsewhere = other.open(selector, plan, None).await.unwrap().session;
    let session = elsewhere.session().unwrap();
    let prompt = async |text: &str| {
        home.model.push(Reply::new().text(text));
        session.prompt("question", Default::default()).await.unwrap();
    };
    prompt("first").await;
    let (id, file) = (session.id(), session.file().unwrap());
    let server = home.serve().await;
    let mut client = server.client_with("driver", Right::Drive).await;
    let mut view = View::of(&id);
    let data = client.ask(view.attach()).await;
    assert_eq!(
        (data["place"].as_str(), data["elsewhere"].as_bool()),
        (Some("elsewhere"), Some(true))
    );
    let mut place = "elsewhere".to_owned();
    prompt("second").await;
    read_until(&mut client, &mut view, entries(&file).len(), &mut place, "elsewhere").await;
    assert_eq!(view.entries, entries(&file));
    let refused = client.request(json!({ "type": "prompt", "message": "x" })).await;
    assert!(refused["error"].as_str().unwrap().contains("another program"), "{refused}");
    // The other program gives it up only when it is asked and idle.
    let turn = elsewhere.turn().await;
    let taking = client.request(json!({ "type": "take_over", "sessionId": id })).await;
    assert!(taking["error"].as_str().unwrap().contains("does not release it"), "{taking}");
    drop((turn, session, elsewhere));
    let tended = other.clone();
    let tending = tokio::spawn(async move {
        loop {
            tended.tend().await;
            tokio::task::yield_now().await;
        }
    });
    let taken = client.ask(json!({ "type": "take_over", "sessionId": id })).await;
    assert_eq!(taken["sessionId"], id.as_str());
    read_until(&mut client, &mut view, 0, &mut place, "here").await;
    home.model.push(Reply::new().text("third"));
    client.ask(json!({ "type": "prompt", "message": "question" })).await;
    while view.whole == 0 {
        let frame = match client.frames.pop_front() {
            Some(frame) => frame,
            None => client.receive().await,
        };
        view.take(&frame);
    }
    // And back: the other program takes it, and the client goes on without a gap.
    tending.abort();
    let stored = other.find(&id).await.unwrap();
    let plan = OpenPlan::new(home.project());
    let back = other.take_over(&stored.id, plan, None, crate::home::LIMIT).await.unwrap().session;
    home.model.push(Reply::new().text("fourth"));
    back.session().unwrap().prompt("question", Default::default()).await.unwrap();
    read_until(&mut client, &mut view, entries(&file).len(), &mut place, "elsewhere").await;
    assert_eq!(view.entries, entries(&file));
    other.close_session(&back).await;
    read_until(&mut client, &mut view, 0, &mut place, "stored").await;
    other.delete(&id).await.unwrap();
    client.until(|frame| frame["type"] == "closed").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_ends_its_socket() {
    let home = Home::new();
    let server = home.serve().await;
    let mut client = server.client_with("short", Right::Drive).await;
    let mut other = server.client_with("other", Right::Drive).await;
    client.open().await;
    server.server.state().tokens.revoke("short").unwrap();
    let error = loop {
        match client.receiver.next().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("the end has a reason"),
        }
    };
    assert!(matches!(&error, ClientError::Socket(text) if text.contains("revoked")), "{error}");
    other.ask(json!({ "type": "hello" })).await;
    let refused = Client::connect(server.address, "nothing").await.err().unwrap();
    assert!(matches!(refused, ClientError::Refused { status: 401, .. }), "{refused}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_outlives_the_connection_that_started_it() {
    let home = Home::new();
    let server = home.serve().await;
    let mut client = server.client_with("driver", Right::Drive).await;
    let session = client.open().await;
    home.model.push(Reply::new().text("word ".repeat(500)).chunks_of(3));
    client.ask(json!({ "type": "prompt", "message": "go" })).await;
    drop(client);
    let hosted = server.host.with_log(&session).unwrap();
    // The turn is free when the run is over.
    drop(hosted.turn().await);
    assert_eq!(
        hosted.session().unwrap().last_assistant_text().unwrap(),
        "word ".repeat(500).trim()
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_items_are_the_records_of_rpc_mode() {
    let home = Home::new();
    let server = home.serve().await;
    let mut client = server.client_with("driver", Right::Drive).await;
    let hello = client.ask(json!({ "type": "hello" })).await;
    assert!(hello["commands"].as_array().unwrap().contains(&"attach".into()), "{hello}");
    let heartbeat = client.until(|frame| frame["type"] == "heartbeat").await;
    assert_eq!(heartbeat["serverId"], hello["serverId"]);
    let nothing = client.request(json!({ "type": "get_state" })).await;
    assert!(nothing["error"].as_str().unwrap().contains("no session is attached"), "{nothing}");
    let data = client.ask(json!({ "type": "open_session", "name": "named" })).await;
    let attach = json!({ "type": "attach", "sessionId": data["sessionId"], "plain": true });
    let attached = client.ask(attach).await;
    assert_eq!(attached["state"]["sessionName"], "named");
    home.model.push(Reply::new().text("hello"));
    client.ask(json!({ "type": "prompt", "message": "hi" })).await;
    let mut kinds: Vec<String> = Vec::new();
    while kinds.last().is_none_or(|last| last != "agent_settled") {
        let frame = client.until(|frame| frame["type"] != "heartbeat").await;
        assert_eq!(frame.get("sessionId"), None, "{frame}");
        kinds.push(frame["type"].as_str().unwrap().to_owned());
    }
    kinds.dedup();
    for kind in ["agent_start", "message_update", "agent_end"] {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
    for (frame, problem) in [
        ("{", "Failed to parse command"),
        ("[]", "Unknown command"),
        (r#"{"type":"attach"}"#, "Invalid attach command"),
        (r#"{"type":"attach","sessionId":"../../etc"}"#, "there is no session"),
        (r#"{"type":"prompt"}"#, "Invalid prompt command"),
    ] {
        let frame: Value = serde_json::from_str(frame).unwrap_or_else(|_| frame.into());
        client.sender.send(&frame).await.unwrap();
        let response = client.until(|frame| frame["type"] == "response").await;
        let error = response["error"].as_str().unwrap();
        assert!(error.contains(problem) || error.contains("Unknown command"), "{frame}: {error}");
    }
    server.stop().await;
}
