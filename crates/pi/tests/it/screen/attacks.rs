//! Hostile text: control sequences in everything that is shown must not reach the terminal.
//!
//! Every attack of `ATTACKS` is tried in every place of the tests below. The text around an attack
//! must be shown, and the output must contain only the sequences that drawing needs.

use std::collections::BTreeSet;

use alacritty_terminal::term::TermMode;
use serde_json::{Map, Value, json};

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;
use super::sequences::sequences;

/// A screen on which all attacks of a place are visible.
const SIZE: Size = Size::new(120, 170);

/// Sequences that would do something, and texts that pretend to be something else.
const ATTACKS: &[&str] = &[
    "\x1b]0;OWNED\x07",
    "\x1b]2;OWNED\x1b\\",
    "\x1b]52;c;T1dORUQ=\x07",
    "\x1b]52;p;T1dORUQ=\x1b\\",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b[2J\x1b[H",
    "\x1b[3J",
    "\x1b[?25h",
    "\x1b[?2004l",
    "\x1b[?2026h",
    "\x1b[?2026l",
    "\x1b[?1000h\x1b[?1003h\x1b[?1006h",
    "\x1b[?1004h",
    "\x1b[?1h\x1b=",
    "\x1b[<u",
    "\x1b[>31u",
    "\x1b[=0u",
    "\x1b[>4;0m",
    "\x1bc",
    "\x1b[!p",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[>q",
    "\x1b[21t",
    "\x1b[18t",
    "\x1b[8;10;10t",
    "\x1b]11;?\x07",
    "\x1b]4;1;rgb:00/00/00\x07",
    "\x1b]104\x07",
    "\x1bP$qm\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b_Gi=1,a=T,f=24,s=1,v=1;AAAA\x1b\\",
    "\x1b_pi:c\x07",
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "\x1b]1337;File=inline=1:QUFB\x07",
    "\x1b]777;notify;OWNED;OWNED\x07",
    "\x1b]9;OWNED\x07",
    "\x1b]9;4;1;50\x07",
    "\x1b]7;file:///OWNED\x07",
    "\x1b]7501;state=error:app=pi\x1b\\",
    "\x1b]133;A\x07",
    "\u{9b}2J\u{9b}31m",
    "\u{9d}0;OWNED\u{9c}",
    "\u{90}$qm\u{9c}",
    "\u{85}\u{84}\u{88}",
    "\x07\x07",
    "\x08\x08\x08\x08\x08\x08",
    "\x0e\x0f",
    "\x1b(0",
    "\x1b%G",
    "\x1b[10;10H",
    "\x1b[1;5r",
    "\x1b[?7l",
    "\x1b[5i",
    "\x1b[4h",
    "\x1b[200~x\x1b[201~",
    "\x0b\x0c",
    "\x18\x1a",
    "\x00\x7f",
    "\u{202e}drowssap\u{202c}",
    "\u{2066}x\u{2069}",
    "\x1b[",
    "\x1b]0;OWNED",
    "\x1bP",
    "\x1b",
];

/// Sequences that drawing needs.
const ALLOWED: &[&str] = &[
    "CSI m", "CSI H", "CSI A", "CSI B", "CSI C", "CSI D", "CSI G", "CSI K", "CSI 0J", "CSI X",
    "DEC 25", "DEC 2026", "OSC 8",
];

/// Returns a text for each attack: a number before it and after it.
fn texts() -> Vec<String> {
    ATTACKS.iter().enumerate().map(|(at, attack)| format!("<{at:03}{attack}{at:03}>")).collect()
}

/// What must not change.
#[derive(Debug, PartialEq)]
struct State {
    mode: TermMode,
    modes: Vec<u32>,
    title: Option<String>,
    clipboard: Vec<String>,
    bells: usize,
}

fn state(screen: &Screen) -> State {
    let requests = screen.emulator.requests();
    State {
        mode: screen.emulator.mode(),
        // A frame may be on its way.
        modes: screen.emulator.modes_left().into_iter().filter(|mode| *mode != 2026).collect(),
        title: requests.title,
        clipboard: requests.clipboard,
        bells: requests.bells,
    }
}

/// A program that is attacked.
struct Attack {
    place: &'static str,
    home: Home,
    screen: Screen,
    before: State,
    written: usize,
}

impl Attack {
    fn start(place: &'static str, home: Home) -> Self {
        let mut screen = Screen::start(&home.command(&[]), SIZE, Profile::PLAIN);
        screen.wait_for("fake-1");
        // The last sequence of the start; the terminal's answers lead to it.
        screen.wait_until("the start", |emulator| {
            emulator.raw.windows(4).any(|part| part == b"\x1b[>4")
        });
        let before = state(&screen);
        let written = screen.emulator.raw.len();
        Self { place, home, screen, before, written }
    }

    /// Waits until the number before each of these attacks is shown, and checks the output.
    #[track_caller]
    fn check(mut self, attacks: impl Iterator<Item = usize>) {
        for attack in attacks {
            self.screen.wait_for(&format!("<{attack:03}"));
        }
        self.unharmed();
    }

    #[track_caller]
    fn unharmed(self) -> Home {
        let Self { place, home, screen, before, written } = self;
        assert_eq!(state(&screen), before, "{place}");
        let allowed: BTreeSet<String> = ALLOWED.iter().map(|one| (*one).to_owned()).collect();
        let found = sequences(&screen.emulator.raw[written..]);
        let more: Vec<&String> = found.difference(&allowed).collect();
        assert!(more.is_empty(), "{place}: {more:?}");
        home
    }
}

fn everything() -> std::ops::Range<usize> {
    0..ATTACKS.len()
}

/// Creates a home in regular mode whose model has this script `evil`.
fn home(script: &Value) -> Home {
    let home = Home::with_scripts(&json!({"evil": script}));
    let settings =
        json!({"tuiMode": "regular", "autocompleteMaxVisible": 20, "retry": {"enabled": false}});
    home.settings(settings.as_object().unwrap());
    home
}

fn say(place: &'static str, script: &Value) -> Attack {
    let home = home(script);
    let mut attack = Attack::start(place, home);
    attack.screen.submit("evil");
    attack.screen.wait_for("000>");
    attack.screen.wait_for("R1.0k");
    attack
}

#[test]
fn in_answers() {
    say("answer", &json!([[{"text": texts().join("\n\n")}]])).check(everything());
}

#[test]
fn in_answers_in_pieces() {
    // Cut inside of the sequences.
    let text = texts().join("\n\n");
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<Value> =
        letters.chunks(3).map(|piece| json!({"text": piece.iter().collect::<String>()})).collect();
    say("answer in pieces", &json!([pieces])).check(everything());
}

#[test]
fn in_code_links_and_tables() {
    let rows: Vec<String> = texts().iter().map(|text| format!("| {text} | `{text}` |")).collect();
    let links: Vec<String> =
        ATTACKS.iter().map(|attack| format!("[link](http://x.example/{attack}y)")).collect();
    let text = format!(
        "```{}\n{}\n```\n\n{}\n\n| a | b |\n|---|---|\n{}\n",
        ATTACKS[0],
        texts().join("\n"),
        links.join(" "),
        rows.join("\n")
    );
    say("code, links and tables", &json!([[{"text": text}]])).unharmed();
}

#[test]
fn in_thinking() {
    let thinking = texts().join("\n\n");
    say("thinking", &json!([[{"think": thinking}, {"text": "000>"}]])).check(everything());
}

#[test]
fn in_tool_calls() {
    let calls: Vec<Value> = texts()
        .iter()
        .step_by(8)
        .map(|text| json!({"call": "bash", "args": {"command": format!(": '{}'", text.replace('\0', ""))}}))
        .chain([
            json!({"call": format!("tool{}x", ATTACKS[0]), "args": {"key": texts().join("\n")}}),
            json!({"call": "read", "args": {"path": texts().join("")}}),
            json!({"call": "edit", "args": {"path": "a.txt", "edits": [{"oldText": "line one", "newText": texts().join("\n")}]}}),
        ])
        .collect();
    say("tool calls", &json!([calls, [{"text": "Ended."}]])).unharmed();
}

#[test]
fn in_output_of_tools() {
    let home = home(&json!([
        [{"call": "bash", "args": {"command": "cat evil.txt"}}, {"call": "read", "args": {"path": "evil.txt"}}],
        [{"text": "Ended."}],
    ]));
    home.write("proj/evil.txt", texts().join("\n"));
    let mut attack = Attack::start("output of tools", home);
    attack.screen.submit("evil");
    attack.screen.wait_for("Ended.");
    attack.screen.key("ctrl+o");
    attack.check(everything());
}

#[test]
fn in_output_of_shell_commands() {
    let home = home(&json!([]));
    home.write("proj/evil.txt", texts().join("\n"));
    let mut attack = Attack::start("output of a shell command", home);
    attack.screen.submit("!cat evil.txt");
    attack.screen.wait_for("066");
    attack.screen.key("ctrl+o");
    attack.check(everything());
}

#[test]
fn in_errors_of_providers() {
    let message = texts().join(" ");
    let home = home(&json!([[{"status": 400, "message": message}]]));
    let mut attack = Attack::start("error of a provider", home);
    attack.screen.submit("evil");
    attack.screen.wait_for("400");
    attack.screen.wait_for("<001");
    attack.unharmed();
}

#[test]
fn in_names_of_files() {
    let home = home(&json!([]));
    for text in texts().iter().filter(|text| !text.contains(['/', '\0'])) {
        home.write(&format!("proj/evil/f{text}"), "");
    }
    home.write("proj/evil/fine", "");
    let mut attack = Attack::start("names of files", home);
    // Names with control characters are not offered; those that only look like others are.
    attack.screen.text("@evil/f");
    attack.screen.wait_for("evil/fine");
    for _ in 0..5 {
        attack.screen.key("down");
    }
    attack.screen.key("escape");
    attack.screen.wait_gone("evil/fine");
    attack.screen.key("ctrl+u");
    attack.screen.submit("!ls evil");
    attack.screen.wait_for("<061");
    attack.unharmed();
}

#[test]
fn in_templates_skills_and_models() {
    let home = home(&json!([]));
    for (at, text) in texts().iter().enumerate() {
        let text = serde_json::to_string(text).unwrap();
        home.write(
            &format!(".pi/agent/prompts/t{at}.md"),
            format!("---\ndescription: {text}\n---\nx\n"),
        );
        let skill = format!("---\nname: s{at}\ndescription: {text}\n---\nx\n");
        home.write(&format!(".pi/agent/skills/s{at}/SKILL.md"), skill);
    }
    let mut models = home.models();
    models["providers"]["fake"]["models"][1]["name"] = json!(texts().join(""));
    home.write(".pi/agent/models.json", models.to_string());
    let mut attack = Attack::start("descriptions of templates", home);
    attack.screen.text("/t");
    attack.screen.wait_for("(1/");
    for _ in 0..5 {
        attack.screen.key("pageDown");
    }
    attack.screen.key("escape");
    attack.screen.wait_gone("(1/");
    attack.screen.key("ctrl+u");
    attack.screen.key("ctrl+l");
    attack.screen.wait_for("fake-2 (");
    attack.screen.key("down");
    attack.unharmed();
}

#[test]
fn in_pasted_text() {
    let home = home(&json!([]));
    let mut attack = Attack::start("pasted text", home);
    // The end of a paste inside of one ends it, as in every terminal.
    let text = texts().join(" ").replace("\x1b[201~", "");
    for part in text.as_bytes().chunks(900) {
        attack.screen.write(b"\x1b[200~");
        attack.screen.write(part);
        attack.screen.write(b"\x1b[201~");
    }
    attack.screen.wait_for("<001");
    attack.unharmed();
}

/// Creates a home with a session for each attack: in its name, prompt, answer and label. Returns the
/// id of the last one too.
fn home_with_sessions() -> (Home, String) {
    let home = home(&json!([]));
    let cwd = home.path("proj");
    let directory = pi_session::session_directory(&home.path(".pi/agent"), &cwd);
    std::fs::create_dir_all(&directory).unwrap();
    let time = "2026-01-02T03:04:05.678Z";
    let message = |id: &str, parent: Option<&str>, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message});
    let answer = json!({"role": "assistant", "content": [{"type": "text", "text": texts().join("\n\n")}],
        "api": "openai-completions", "provider": "fake", "model": "fake-1", "stopReason": "stop",
        "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}, "timestamp": 1});
    let mut last = String::new();
    for (at, text) in texts().iter().enumerate() {
        last = format!("00000000-0000-7000-8000-000000000{at:03}");
        let lines = [
            json!({"type": "session", "version": 3, "id": last, "timestamp": time, "cwd": cwd}),
            message("aaaa0001", None, json!({"role": "user", "content": text, "timestamp": 1})),
            message("aaaa0002", Some("aaaa0001"), answer.clone()),
            json!({"type": "session_info", "id": "aaaa0003", "parentId": "aaaa0002", "timestamp": time, "name": text}),
            json!({"type": "label", "id": "aaaa0004", "parentId": "aaaa0003", "timestamp": time, "targetId": "aaaa0001", "label": text}),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(directory.join(format!("2026-01-02T03-04-05-678Z_{last}.jsonl")), text)
            .unwrap();
    }
    (home, last)
}

#[test]
fn in_sessions() {
    let (home, last) = home_with_sessions();
    let mut attack = Attack::start("names of sessions", home);
    attack.screen.submit("/resume");
    attack.screen.wait_for("Sort:");
    attack.screen.wait_for("<0");
    for _ in 0..8 {
        attack.screen.key("pageDown");
    }
    attack.screen.key("escape");
    attack.screen.wait_gone("Sort:");
    let home = attack.unharmed();
    // The name of a session is also in the title of the terminal.
    for id in ["00000000-0000-7000-8000-000000000000", last.as_str()] {
        let mut screen = Screen::start(&home.command(&["--session", id]), SIZE, Profile::PLAIN);
        screen.wait_for("fake-1");
        screen.wait_for("<020");
        let requests = screen.emulator.requests();
        let title = requests.title.unwrap_or_default();
        assert!(title.starts_with('π') && !title.chars().any(char::is_control), "{title:?}");
        assert_eq!((requests.clipboard, requests.bells), (Vec::new(), 0));
        let found = sequences(&screen.emulator.raw);
        assert!(!found.contains("ESC c") && !found.contains("CSI 3J"), "{found:?}");
    }
}

#[test]
fn in_labels() {
    let (home, last) = home_with_sessions();
    let mut screen = Screen::start(&home.command(&["--session", &last]), SIZE, Profile::PLAIN);
    screen.wait_for("<020");
    let written = screen.emulator.raw.len();
    screen.submit("/tree");
    screen.wait_for("[<0");
    let found = sequences(&screen.emulator.raw[written..]);
    let more: Vec<&String> = found.iter().filter(|one| !ALLOWED.contains(&one.as_str())).collect();
    assert!(more.is_empty(), "{more:?}");
}

#[test]
fn in_the_name_of_the_branch() {
    let home = home(&json!([]));
    home.write("proj/.git/HEAD", format!("ref: refs/heads/{}\n", texts()[0]));
    let attack = Attack::start("branch", home);
    let found = sequences(&attack.screen.emulator.raw);
    assert!(!found.contains("control 07"), "{found:?}");
    let title = attack.screen.emulator.requests().title.unwrap_or_default();
    assert!(!title.contains("OWNED"), "{title:?}");
}

#[test]
fn in_fullscreen_too() {
    let home = home(&json!([[{"text": texts().join("\n\n")}]]));
    home.settings(&Map::from_iter([("tuiMode".to_owned(), json!("fullscreen"))]));
    let mut attack = Attack::start("fullscreen", home);
    attack.screen.submit("evil");
    attack.screen.wait_for("R1.0k");
    attack.check(everything());
}
