//! Sessions on the screen: selecting, searching, the tree, forks.

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;

const SIZE: Size = Size::new(100, 40);

/// Starts a session with two prompts.
fn talked(home: &Home) -> Screen {
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1");
    screen.submit("one");
    screen.wait_for("CH81.0%");
    screen.submit("two");
    screen.wait_for("↑468");
    screen
}

fn start(home: &Home, arguments: &[&str]) -> Screen {
    Screen::start(&home.command(arguments), SIZE, Profile::PLAIN)
}

#[test]
fn the_resume_option_selects_a_session_or_ends() {
    let home = Home::new();
    let mut screen = talked(&home);
    screen.submit("/name The first one");
    screen.wait_for("• The first one");
    screen.key("ctrl+d");
    screen.finish();
    for (mode, cancel) in [("regular", "escape"), ("fullscreen", "ctrl+c")] {
        let mut screen = start(&home, &["--resume", "--tui-mode", mode]);
        screen.wait_for("› The first one");
        screen.key(cancel);
        assert_eq!(screen.finish().code(), Some(0), "{mode}");
        assert_eq!(screen.emulator.modes_left(), [0_u32; 0], "{mode}");
        let mut screen = start(&home, &["-r", "--tui-mode", mode]);
        screen.wait_for("› The first one");
        screen.key("enter");
        screen.wait_for("Hello from the model.");
        screen.wait_gone("Resume Session");
        screen.wait_for("• The first one");
    }
    assert_eq!(home.sessions().len(), 1, "nothing was created");
}

#[test]
fn sessions_are_found_by_their_messages() {
    let home = Home::new();
    let mut screen = talked(&home);
    screen.submit("/new");
    screen.wait_for("New session started");
    screen.submit("three");
    screen.wait_for("CH81.0%");
    screen.submit("/resume");
    screen.wait_for("› three");
    screen.text("\"model two\"");
    screen.wait_for("No session matches");
    (0..20).for_each(|_| screen.key("backspace"));
    screen.wait_for("› three");
    screen.text("from two");
    screen.wait_for("1 match");
    screen.key("enter");
    screen.wait_for("Session resumed");
    screen.wait_for("two");
}

#[test]
fn a_session_is_renamed_and_deleted_but_not_the_open_one() {
    let home = Home::new();
    let mut screen = talked(&home);
    screen.submit("/new");
    screen.wait_for("New session started");
    screen.submit("three");
    screen.wait_for("CH81.0%");
    screen.submit("/resume");
    screen.wait_for("› three");
    screen.key("ctrl+d");
    screen.wait_for("This session is open");
    screen.key("down");
    screen.key("ctrl+r");
    screen.wait_for("Rename Session");
    screen.text("Older");
    screen.key("enter");
    screen.wait_for("› Older");
    screen.key("ctrl+d");
    screen.wait_for("Delete this session?");
    screen.key("escape");
    screen.wait_gone("Delete this session?");
    assert_eq!(home.sessions().len(), 2);
    screen.key("ctrl+d");
    screen.wait_for("Delete this session?");
    screen.key("enter");
    screen.wait_gone("Older");
    assert_eq!(home.sessions().len(), 1);
}

#[test]
fn the_tree_leads_back_to_a_prompt() {
    let home = Home::new();
    let mut screen = talked(&home);
    screen.submit("/tree");
    screen.wait_for("(5/5)");
    screen.key("up");
    screen.wait_for("› • user: two");
    screen.key("enter");
    screen.wait_for("No summary");
    screen.key("enter");
    screen.wait_for("Navigated to the selected entry");
    screen.wait_gone("↑468 ↓112 R2.0k CH81.0% $0.001 2");
    screen.text(" more");
    screen.wait_for("two more");
    screen.key("enter");
    screen.wait_for("↑702");
    screen.submit("/tree");
    screen.wait_for("├⊟ • user: two more");
    screen.wait_for("└⊟ user: two");
}

#[test]
fn forks_and_clones_are_new_sessions() {
    let home = Home::new();
    let mut screen = talked(&home);
    screen.submit("/fork");
    screen.wait_for("Message 2 of 2");
    screen.key("enter");
    screen.wait_for("Forked to a new session");
    screen.key("ctrl+c");
    screen.submit("/clone");
    screen.wait_for("Cloned to a new session");
    assert_eq!(home.sessions().len(), 3);
}
