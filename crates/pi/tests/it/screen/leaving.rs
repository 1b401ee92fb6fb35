//! The end of the program: the terminal is as before, the session is whole, and the way back is
//! printed.

use alacritty_terminal::term::TermMode;
use serde_json::Value;

use super::emulator::{Emulator, Profile, Size};
use super::home::Home;
use super::program::Screen;

const SIZE: Size = Size::new(80, 24);
const MODES: [&str; 2] = ["regular", "fullscreen"];

/// A way to end the program.
#[derive(Debug, Clone, Copy)]
enum End {
    CtrlD,
    CtrlCTwice,
    Quit,
    Signal(&'static str),
}

/// What the program does when it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Idle,
    Answering,
    RunningTool,
    Completing,
}

fn start(home: &Home, mode: &str, profile: Profile, state: State) -> Screen {
    let mut screen = Screen::start(&home.command(&["--tui-mode", mode]), SIZE, profile);
    screen.wait_for("fake-1");
    screen.submit("one");
    screen.wait_for("CH81.0%");
    match state {
        State::Idle => {}
        State::Answering => {
            screen.submit("stream");
            screen.wait_for("First part");
        }
        State::RunningTool => {
            screen.submit("slowtool");
            screen.wait_for("Elapsed");
        }
        State::Completing => {
            screen.text("/");
            screen.wait_for("→ ");
        }
    }
    screen
}

fn text(emulator: &Emulator) -> String {
    let rows = emulator.scrollback().into_iter().chain(emulator.rows());
    rows.map(|row| row.text + "\n").collect()
}

#[track_caller]
fn assert_restored(screen: &Screen, about: &str) {
    let emulator = &screen.emulator;
    assert_eq!(emulator.modes_left(), [0_u32; 0], "{about}: private modes");
    assert_eq!(emulator.mode(), TermMode::default(), "{about}");
    assert_eq!(format!("{:?}", screen.driver()), format!("{:?}", screen.before), "{about}: stty");
    let raw = String::from_utf8_lossy(&emulator.raw);
    if let Some(at) = raw.rfind("\x1b[>4;") {
        assert!(raw[at..].starts_with("\x1b[>4;0m"), "{about}: modifyOtherKeys stays");
    }
    let title = emulator.requests().title.unwrap_or_default();
    assert_eq!(title, "", "{about}: title");
    // The prompt of the shell comes at the start of an empty row, below everything.
    let (column, row) = emulator.cursor();
    let rows = emulator.rows();
    assert_eq!(column, 0, "{about}\n{}", screen.shown());
    assert!(rows[row..].iter().all(|row| row.text.is_empty()), "{about}\n{}", screen.shown());
}

/// Asserts that all lines of all session files are JSON, and that the prompt is in one of them.
#[track_caller]
fn assert_whole(home: &Home, prompt: &str, about: &str) {
    let sessions = home.sessions();
    assert_eq!(sessions.len(), 1, "{about}");
    let text = std::fs::read_to_string(&sessions[0]).unwrap();
    assert!(text.ends_with('\n'), "{about}");
    let entries: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(about)).collect();
    let has = entries.iter().any(|entry| {
        let message = &entry["message"];
        message["role"] == "user" && message.to_string().contains(prompt)
    });
    assert!(has, "{about}: {prompt} is missing");
}

#[test]
fn the_terminal_is_restored() {
    let ends = [
        (End::CtrlD, State::Idle, Profile::PLAIN),
        (End::CtrlD, State::Idle, Profile::MODERN),
        (End::CtrlCTwice, State::Idle, Profile::PLAIN),
        (End::CtrlCTwice, State::Answering, Profile::MODERN),
        (End::Quit, State::Idle, Profile::PLAIN),
        (End::Quit, State::Answering, Profile::PLAIN),
        (End::Signal("TERM"), State::Idle, Profile::PLAIN),
        (End::Signal("TERM"), State::Answering, Profile::MODERN),
        (End::Signal("TERM"), State::RunningTool, Profile::PLAIN),
        (End::Signal("TERM"), State::Completing, Profile::MODERN),
        (End::Signal("HUP"), State::Idle, Profile::PLAIN),
        (End::Signal("HUP"), State::RunningTool, Profile::MODERN),
    ];
    std::thread::scope(|scope| {
        for mode in MODES {
            scope.spawn(move || {
                for (end, state, profile) in ends {
                    let about = format!("{mode}, {end:?}, {state:?}, {profile:?}");
                    let home = Home::new();
                    let mut screen = start(&home, mode, profile, state);
                    match end {
                        End::CtrlD => screen.key("ctrl+d"),
                        End::CtrlCTwice => (0..2).for_each(|_| screen.key("ctrl+c")),
                        End::Quit => screen.submit("/quit"),
                        End::Signal(name) => screen.signal(name),
                    }
                    let code = match end {
                        End::Signal("TERM") => 143,
                        End::Signal(_) => 129,
                        _ => 0,
                    };
                    assert_eq!(screen.finish().code(), Some(code), "{about}\n{}", screen.shown());
                    assert_restored(&screen, &about);
                    assert_whole(&home, "one", &about);
                    let shown = text(&screen.emulator);
                    assert_eq!(shown.matches("pi --session ").count(), 1, "{about}\n{shown}");
                }
            });
        }
    });
}

#[test]
fn the_hint_names_the_session_and_resumes_it() {
    let home = Home::new();
    let mut screen = start(&home, "regular", Profile::PLAIN, State::Idle);
    screen.key("ctrl+d");
    screen.finish();
    let shown = text(&screen.emulator);
    let (_, rest) = shown.split_once("pi --session ").unwrap();
    let id = rest.split_whitespace().next().unwrap();
    let mut again = Screen::start(&home.command(&["--session", id]), SIZE, Profile::PLAIN);
    again.wait_for("Hello from the model.");
    again.key("ctrl+d");
    assert_eq!(again.finish().code(), Some(0));
}

#[test]
fn an_empty_session_leaves_no_hint_and_no_file() {
    for mode in MODES {
        let home = Home::new();
        let mut screen = Screen::start(&home.command(&["--tui-mode", mode]), SIZE, Profile::PLAIN);
        screen.wait_for("fake-1");
        screen.key("ctrl+d");
        assert_eq!(screen.finish().code(), Some(0), "{mode}");
        assert_restored(&screen, mode);
        assert!(!text(&screen.emulator).contains("pi --session"), "{mode}\n{}", screen.shown());
        assert_eq!(home.sessions().len(), 0, "{mode}");
    }
}

#[test]
fn a_closed_terminal_ends_the_program() {
    for mode in MODES {
        for state in [State::Idle, State::Answering, State::RunningTool] {
            let home = Home::new();
            let screen = start(&home, mode, Profile::PLAIN, state);
            let status = screen.hang_up();
            assert!(matches!(status.code(), Some(0 | 129)), "{mode}, {state:?}: {status:?}");
            assert_whole(&home, "one", &format!("{mode}, {state:?}"));
        }
    }
}

#[test]
fn a_killed_program_leaves_a_whole_session() {
    for mode in MODES {
        let home = Home::new();
        let mut screen = start(&home, mode, Profile::PLAIN, State::Answering);
        screen.signal("KILL");
        assert_eq!(screen.finish().code(), None);
        assert_whole(&home, "stream", mode);
        let mut again = Screen::start(&home.command(&["--continue"]), SIZE, Profile::PLAIN);
        again.wait_for("Hello from the model.");
        again.submit("two");
        again.wait_for("↑468");
        again.key("ctrl+d");
        assert_eq!(again.finish().code(), Some(0));
    }
}

#[test]
fn a_suspended_program_restores_the_terminal_and_comes_back() {
    for mode in MODES {
        let home = Home::new();
        let pi = env!("CARGO_BIN_EXE_pi");
        // A shell with job control; without one, the terminal driver ignores the stop.
        let script = format!("set -m; {pi} --tui-mode {mode}; echo stopped=$?; fg; echo ended=$?");
        let command = home.command_of("/bin/bash".as_ref(), &["-c", &script]);
        let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
        screen.wait_for("fake-1");
        screen.submit("one");
        screen.wait_for("CH81.0%");
        screen.key("ctrl+z");
        screen.wait_until("stopped", |emulator| {
            String::from_utf8_lossy(&emulator.raw).contains("stopped=148")
        });
        screen.wait_until("the screen again", |emulator| {
            let raw = String::from_utf8_lossy(&emulator.raw);
            raw.rsplit("stopped=148").next().is_some_and(|after| after.contains("CH81.0%"))
        });
        screen.text("typed");
        screen.wait_for("typed");
        screen.key("ctrl+c");
        screen.wait_gone("typed");
        screen.key("ctrl+d");
        assert_eq!(screen.finish().code(), Some(0), "{mode}");
        assert!(text(&screen.emulator).contains("ended=0"), "{mode}\n{}", screen.shown());
        assert_eq!(screen.emulator.modes_left(), [0_u32; 0], "{mode}");
    }
}
