//! A person's day on the screen: background processes, and taking back a run.

use serde_json::{Value, json};

use super::emulator::{Profile, Size};
use super::program::{Screen, contains};
use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Call, Part, Reply};

const SIZE: Size = Size::new(90, 30);

fn call(name: &str, args: Value) -> Reply {
    let (id, name) = ("1".to_owned(), name.to_owned());
    Reply::Parts(vec![Part::Call(Call { id, name, args, pieces: None })])
}

fn start(env: &ServerEnv) -> Screen {
    let mut command = env.command(&[]);
    command.env("PI_CODING_AGENT_DIR", env.agent()).env("TERM", "xterm-256color");
    let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
    screen.wait_for("m1");
    screen
}

/// Returns the names of the tools that a request declares.
fn tools(env: &ServerEnv) -> Vec<String> {
    let request = env.server.requests()[0].clone();
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn background_processes_are_counted_listed_and_ended() {
    let env = ServerEnv::new(vec![
        call("bash", json!({ "command": "echo serving; exec sleep 1000", "background": true })),
        Reply::Text("The server runs.".to_owned()),
    ]);
    let mut screen = start(&env);
    screen.submit("Start the server");
    screen.wait_for("The server runs.");
    assert!(tools(&env).contains(&"process".to_owned()));
    screen.wait_for("• 1 process");
    screen.submit("/processes");
    screen.wait_for("Background processes");
    screen.key("enter");
    screen.wait_for("serving");
    screen.submit("/processes");
    screen.wait_for("Background processes");
    screen.text("x");
    screen.wait_for("Process 1 was stopped");
    screen.wait_gone("• 1 process");
    screen.submit("/quit");
    assert!(screen.finish().success());
}

/// Programs that count on the tools of pi 1.5.0 get them.
#[test]
fn print_mode_has_the_tools_of_the_typescript_pi() {
    let env = ServerEnv::with_answer();
    env.run(&["-p", "Hello"]).assert_answered(&[]);
    assert_eq!(tools(&env), ["read", "bash", "edit", "write"]);
    let env = ServerEnv::with_answer();
    env.run(&["--tools", "+process", "-p", "Hello"]).assert_answered(&[]);
    assert_eq!(tools(&env), ["read", "bash", "edit", "write", "process"]);
}

#[test]
fn undo_takes_back_files_and_conversation() {
    for (downs, file, conversation) in [(0, false, true), (1, false, false), (2, true, false)] {
        let env = ServerEnv::new(vec![
            call("write", json!({ "path": "new.txt", "content": "x\n" })),
            Reply::Text("Written.".to_owned()),
            Reply::Text("Then.".to_owned()),
        ]);
        let mut screen = start(&env);
        screen.submit("Write a file");
        screen.wait_for("Written.");
        screen.wait_gone("Working");
        screen.submit("/undo");
        screen.wait_for("Take back these file changes");
        screen.wait_for("remove new.txt");
        for _ in 0..downs {
            screen.key("down");
        }
        screen.key("enter");
        let told = if conversation { "removed new.txt" } else { "Write a file" };
        screen.wait_for(told);
        if !conversation {
            // The prompt is back in the editor.
            screen.wait_gone("Written.");
            screen.key("ctrl+c");
        }
        screen.submit("And now?");
        screen.wait_for("Then.");
        let request = env.server.requests()[2]["messages"].to_string();
        assert_eq!(env.project().join("new.txt").exists(), file, "{downs}");
        assert_eq!(request.contains("Written."), conversation, "{downs}: {request}");
        assert_eq!(request.contains("took back the file changes"), downs == 0, "{request}");
        assert_eq!(request.contains("still in place"), downs == 2, "{request}");
        assert!(contains(&screen.emulator.rows(), "Then."));
        screen.submit("/quit");
        assert!(screen.finish().success());
    }
}
