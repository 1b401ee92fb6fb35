//! A working day: what a person types, presses and drops, and what becomes of it.

use serde_json::{Value, json};

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::{Screen, contains};

const SIZE: Size = Size::new(80, 30);

fn start(home: &Home, arguments: &[&str]) -> Screen {
    let mut all = vec!["--tui-mode", "regular"];
    all.extend(arguments);
    let mut screen = Screen::start(&home.command(&all), SIZE, Profile::PLAIN);
    screen.wait_for("fake-1");
    screen
}

/// Returns the messages of the user that the model got last.
fn messages(home: &Home) -> Vec<Value> {
    let requests = home.server.requests();
    let Some(last) = requests.last() else { return Vec::new() };
    let messages = last["messages"].as_array().unwrap().iter();
    messages.filter(|message| message["role"] == "user").cloned().collect()
}

fn texts(home: &Home) -> Vec<String> {
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    messages(home).iter().map(text).collect()
}

#[test]
fn an_unknown_command_is_sent_only_when_it_is_submitted_again() {
    let home = Home::new();
    home.write(".pi/agent/prompts/greet.md", "Say hello to $1");
    let mut screen = start(&home, &[]);
    screen.submit("/tre now");
    screen.wait_for("unknown command /tre; did you mean /tree?");
    screen.wait_for("/tre now");
    // Another text is another question.
    screen.text("x");
    screen.key("enter");
    screen.wait_until("asked again", |emulator| {
        emulator.rows().iter().filter(|row| row.text.contains("unknown command")).count() == 2
    });
    assert!(home.server.requests().is_empty());
    screen.key("enter");
    screen.wait_for("Hello from the model.");
    assert_eq!(texts(&home), ["/tre nowx"]);
    // A path is no command, and a template is one.
    for (text, count) in [("/usr/bin is what?", 2), ("/greet Ann", 3)] {
        screen.submit(text);
        screen.wait_until(text, |_| home.server.requests().len() == count);
    }
    assert_eq!(texts(&home)[1..], ["/usr/bin is what?", "Say hello to Ann"]);
}

#[test]
fn help_lists_commands_keys_and_topics_and_shows_a_topic() {
    let home = Home::new();
    let mut screen = Screen::start(
        &home.command(&["--tui-mode", "regular"]),
        Size::new(80, 120),
        Profile::PLAIN,
    );
    screen.wait_for("fake-1");
    screen.submit("/help");
    for text in [
        "/compact <instructions>",
        "/undo",
        "Searches the prompts",
        "/help troubleshooting",
        "More topics: providers, logins, local-models",
    ] {
        screen.wait_for(text);
    }
    screen.submit("/help themes");
    screen.wait_for("thinkingXhigh.");
    screen.wait_gone("`pi ");
    screen.submit("/help local-modls");
    screen.wait_for("did you mean /help local-models?");
    assert!(home.server.requests().is_empty());
}

#[test]
fn ctrl_c_stops_the_answer_and_keeps_the_draft_unless_it_is_set_otherwise() {
    for interrupts in [true, false] {
        let home = Home::new();
        home.settings(json!({ "clearKeyInterrupts": interrupts }).as_object().unwrap());
        let mut screen = start(&home, &[]);
        screen.submit("stream");
        screen.wait_for("First part");
        screen.wait_for("· escape stops");
        screen.text("a draft");
        screen.wait_for("a draft");
        screen.key("ctrl+c");
        if interrupts {
            screen.wait_for("Operation aborted");
            screen.wait_for("a draft");
        } else {
            screen.wait_gone("a draft");
            screen.wait_for("escape stops");
            home.server.open("stream");
            screen.wait_for("and the second part.");
        }
        screen.wait_gone("escape stops");
    }
}

#[test]
fn a_shell_command_moves_while_it_runs_and_ctrl_c_stops_it() {
    for mode in ["regular", "fullscreen"] {
        let home = Home::new();
        let mut screen = Screen::start(&home.command(&["--tui-mode", mode]), SIZE, Profile::PLAIN);
        screen.wait_for("fake-1");
        screen.submit("!sleep 30");
        screen.wait_for("Running...");
        for frame in ["⠙ Running", "⠸ Running", "⠦ Running"] {
            screen.wait_for(frame);
        }
        screen.key("ctrl+c");
        screen.wait_for("(cancelled)");
    }
}

#[test]
fn an_answer_without_text_is_said_to_be_empty() {
    let home = Home::with_scripts(&json!({ "nothing": [[{ "text": "" }]] }));
    let mut screen = start(&home, &[]);
    screen.submit("nothing");
    screen.wait_for("(the model returned no text)");
    drop(screen);
    let mut screen = start(&home, &["-c"]);
    screen.wait_for("(the model returned no text)");
}

#[test]
fn prompts_of_earlier_sessions_are_reached_by_up_and_by_the_search() {
    let home = Home::new();
    let mut screen = start(&home, &[]);
    for (count, prompt) in [(1, "one first"), (2, "two second")] {
        screen.submit(prompt);
        screen.wait_until(prompt, |it| {
            it.rows().iter().filter(|row| row.text.contains("Hello from the model.")).count()
                == count
        });
        screen.wait_gone("escape stops");
    }
    screen.key("ctrl+d");
    screen.finish();
    let path = home.path(".pi/agent/history.jsonl");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // A new session begins with them, a resumed one with its own.
    for arguments in [&[][..], &["-c"]] {
        let mut screen = start(&home, arguments);
        screen.key("up");
        screen.wait_until("the newest prompt", |it| {
            it.rows().iter().any(|row| row.text == "two second")
        });
        screen.key("up");
        screen
            .wait_until("the one before", |it| it.rows().iter().any(|row| row.text == "one first"));
        screen.key("ctrl+c");
        screen.key("ctrl+r");
        screen.wait_for("Prompt history");
        screen.text("first");
        screen.wait_for("→ one first");
        screen.key("enter");
        screen.wait_gone("Prompt history");
        screen
            .wait_until("in the editor", |it| it.rows().iter().any(|row| row.text == "one first"));
    }
    let before = std::fs::read(&path).unwrap();
    for arguments in [&["--no-session"][..], &[]] {
        home.settings(json!({ "promptHistory": !arguments.is_empty() }).as_object().unwrap());
        let mut screen = start(&home, arguments);
        screen.submit("three is not kept");
        screen.wait_for("Hello from the model.");
        screen.key("ctrl+d");
        screen.finish();
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

/// Writes an image of one pixel, and returns its path.
fn image(home: &Home, name: &str) -> String {
    use base64::Engine as _;
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWj\
                       R9awAAAABJRU5ErkJggg==";
    home.write(name, base64::engine::general_purpose::STANDARD.decode(PNG).unwrap());
    home.path(name).display().to_string()
}

#[test]
fn a_dropped_image_is_attached_and_its_mark_can_be_deleted() {
    let home = Home::new();
    let path = image(&home, "a shot.png");
    let mut screen = start(&home, &[]);
    screen.text("look at ");
    screen.paste(&format!("'{path}'"));
    screen.wait_for("look at [image a shot.png]");
    screen.text("please");
    screen.key("enter");
    screen.wait_for("Hello from the model.");
    let sent = messages(&home);
    let content = sent[0]["content"].as_array().unwrap();
    assert!(content.iter().any(|part| part["type"] == "image_url"), "{content:?}");
    assert!(
        texts(&home)[0].starts_with(&format!("look at \"{path}\" please")),
        "{:?}",
        texts(&home)
    );
    // One key deletes the mark, and nothing is attached.
    screen.paste(&path.replace(' ', "\\ "));
    screen.wait_for("[image a shot.png]");
    screen.key("backspace");
    screen.key("backspace");
    screen.wait_gone("[image a shot.png]");
    screen.submit("without");
    screen.wait_until("a second answer", |_| home.server.requests().len() == 2);
    assert!(messages(&home)[1]["content"].as_array().is_none_or(|parts| parts.len() == 1));
    // The model that was chosen cannot see images.
    let mut models = home.models();
    models["providers"]["fake"]["models"][0]["input"] = json!(["text"]);
    home.write(".pi/agent/models.json", models.to_string());
    let mut screen = start(&home, &[]);
    screen.paste(&path.replace(' ', "\\ "));
    screen.wait_for("a shot.png\"");
}

#[test]
fn a_queued_image_comes_back_attached() {
    let home = Home::new();
    let path = image(&home, "shot.png");
    let mut screen = start(&home, &[]);
    screen.submit("stream");
    screen.wait_for("First part");
    screen.paste(&path);
    screen.wait_for("[image shot.png]");
    screen.key("enter");
    screen.wait_for("Steering:");
    screen.wait_gone("[image shot.png]");
    screen.key("alt+up");
    screen.wait_for("[image shot.png]");
    screen.wait_gone("Steering:");
}

#[test]
fn a_small_session_need_not_be_compacted_and_a_resumed_one_shows_its_cache_hits() {
    let home = Home::new();
    let mut screen = start(&home, &[]);
    screen.submit("one");
    screen.wait_for("CH81.0%");
    screen.submit("/compact");
    screen.wait_for("Nothing to compact: the session is still small");
    assert!(!contains(&screen.emulator.rows(), "Error"), "{}", screen.shown());
    screen.key("ctrl+d");
    screen.finish();
    let mut screen = start(&home, &["-c"]);
    screen.wait_for("CH81.0%");
}

#[test]
fn a_call_that_was_interrupted_is_shown_as_such() {
    let home = Home::new();
    let mut screen = start(&home, &[]);
    screen.submit("slowtool");
    screen.wait_for("Elapsed");
    // Kills the program.
    drop(screen);
    let mut screen = start(&home, &["-c"]);
    screen.wait_for("(interrupted: there is no result)");
}

#[test]
fn in_a_small_window_nothing_is_trusted_unseen() {
    for (columns, rows) in [(40, 10), (60, 11), (80, 10)] {
        let home = Home::new();
        home.write("proj/.pi/settings.json", "{}");
        home.write("proj/.pi/SYSTEM.md", "Be brief.");
        home.write("proj/.pi/prompts/greet.md", "Say hello");
        home.write("proj/.pi/extensions/last.ts", "export default () => {}");
        let command = home.command(&["--tui-mode", "regular"]);
        let mut screen = Screen::start(&command, Size::new(columns, rows), Profile::PLAIN);
        screen.wait_for("Trust project folder?");
        screen.wait_for("[1:trust]");
        screen.wait_for("more");
        // The key shows the rest before it trusts.
        for _ in 0..20 {
            if contains(&screen.emulator.rows(), ".pi/extensions") {
                break;
            }
            screen.key("enter");
            screen.settle(std::time::Duration::from_millis(50));
            assert!(!home.path(".pi/agent/trust.json").exists(), "{}", screen.shown());
        }
        screen.wait_for(".pi/extensions");
        for _ in 0..3 {
            if !contains(&screen.emulator.rows(), "[1:trust]") {
                break;
            }
            screen.key("enter");
            screen.settle(std::time::Duration::from_millis(50));
        }
        screen.wait_for("%/128k");
        assert!(home.path(".pi/agent/trust.json").exists());
    }
}

/// Titles and selected rows of all lists are visible in a small window.
#[test]
fn lists_keep_their_titles_in_a_small_window() {
    for mode in ["regular", "fullscreen"] {
        for (columns, rows) in [(40, 10), (80, 12)] {
            let edit = json!({ "call": "edit", "args": { "path": "a.txt", "edits": [
                { "oldText": "line one", "newText": "line 1" },
            ] } });
            let home = Home::with_scripts(&json!({ "change": [[edit], [{ "text": "Done." }]] }));
            let command = home.command(&["--tui-mode", mode]);
            let mut screen = Screen::start(&command, Size::new(columns, rows), Profile::PLAIN);
            screen.wait_for("%/128k");
            screen.submit("change");
            screen.wait_for("Done.");
            let panels = [
                ("/login", "authentication method", "→ Sign in with an"),
                ("/tree", "Session Tree", "› "),
                ("/resume", "Current Folder", "› "),
                ("/thinking", "thinks (~8k tokens)", "→ "),
                ("/undo", "Undo: change", "→ Take back these"),
            ];
            for (name, title, selected) in panels {
                screen.submit(name);
                screen.wait_for(title);
                screen.wait_for(selected);
                screen.key("escape");
                screen.wait_gone(title);
            }
            screen.submit("/login");
            screen.wait_for("authentication method");
            screen.key("enter");
            screen.wait_for("Select provider to sign in to");
            screen.wait_for("→ OpenAI");
        }
    }
}

/// The time of a call is not that of the question about it.
#[test]
fn the_time_of_the_user_is_not_that_of_the_command() {
    let home = Home::new();
    let mut screen = start(&home, &["--profile", "careful", "--sandbox", "off"]);
    for (key, took) in [("y", true), ("n", false)] {
        screen.submit("bash-ok");
        screen.wait_for("Allow bash?");
        screen.settle(std::time::Duration::from_millis(1600));
        screen.wait_for("Elapsed 0.0s");
        screen.text(key);
        screen.wait_gone("Allow bash?");
        screen.wait_gone("escape stops");
        let shown = screen.shown();
        let last = shown.rsplit("$ ").next().unwrap_or_default();
        assert_eq!(last.contains("Took 0."), took, "{shown}");
        assert_eq!(last.contains("Took"), took, "{shown}");
        screen.submit("/new");
        screen.wait_gone("$ ");
    }
}

#[test]
fn escape_in_the_question_of_trust_says_what_follows() {
    let home = Home::new();
    home.write("proj/.pi/settings.json", "{}");
    let command = home.command(&["--tui-mode", "regular"]);
    let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
    screen.wait_for("Trust project folder?");
    screen.key("escape");
    screen.wait_for("not trusted in this session");
    screen.wait_for("/trust");
}

#[test]
fn a_search_may_contain_spaces() {
    let home = Home::new();
    let mut screen = start(&home, &[]);
    screen.submit("/settings");
    screen.wait_for("Look");
    screen.text("vim m");
    screen.wait_for("→ Vim mode");
    screen.wait_for("> vim m");
    screen.key("enter");
    screen.wait_until("vim is on", |it| {
        it.rows().iter().any(|row| row.text.contains("Vim mode") && row.text.ends_with("true"))
    });
}

#[test]
fn the_search_of_the_transcript_is_a_command_too() {
    let home = Home::new();
    let command = home.command(&["--tui-mode", "fullscreen"]);
    let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
    screen.wait_for("fake-1");
    screen.submit("long");
    screen.wait_for("CH81.0%");
    screen.submit("/search needle");
    screen.wait_for("2/2");
    screen.key("escape");
    screen.wait_gone("2/2");
}

#[test]
fn the_profile_is_in_the_footer_if_it_restricts_something() {
    let home = Home::new();
    let mut screen = start(&home, &[]);
    screen.submit("one");
    screen.wait_for("CH81.0%");
    assert!(!contains(&screen.emulator.rows(), "profile"), "{}", screen.shown());
    let mut screen = start(&home, &["--profile", "careful"]);
    screen.wait_until("the profile", |it| {
        it.rows().iter().any(|row| row.text.ends_with("profile careful"))
    });
}

#[test]
fn the_demo_is_a_conversation_whose_change_can_be_taken_back() {
    let home = Home::new();
    let mut screen = start(&home, &[]);
    screen.submit("/demo");
    screen.wait_for("This is the session of the demo.");
    screen.wait_for("I am a scripted model");
    screen.submit("/undo");
    screen.wait_for("Hello, world!");
    assert!(home.server.requests().is_empty());
}
