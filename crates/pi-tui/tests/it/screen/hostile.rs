//! Hostile texts in messages, tool results and file names: only text reaches the terminal.

use std::rc::Rc;

use pi_tui::{
    Block, Blocks, ColorDepth, Encoder, FullScreen, Line, Lines, RegularScreen, Size, Span, Style,
    Theme, View,
};

use super::frame;
use crate::emulator::Emulator;

/// Attacks: sequences that would steer a terminal, and characters that disguise text.
const ATTACKS: &[(&str, &str)] = &[
    ("title", "\x1b]0;owned\x07"),
    ("title with ST", "\x1b]2;owned\x1b\\"),
    ("title with C1", "\u{9d}0;owned\u{9c}"),
    ("icon name", "\x1b]1;owned\x07"),
    ("clipboard write", "\x1b]52;c;b3duZWQ=\x07"),
    ("clipboard read", "\x1b]52;c;?\x07"),
    ("clipboard write with C1", "\u{9d}52;c;b3duZWQ=\u{9c}"),
    ("clipboard, primary", "\x1b]52;p;b3duZWQ=\x1b\\"),
    ("unfinished OSC", "\x1b]0;owned"),
    ("unfinished CSI", "\x1b["),
    ("unfinished escape", "\x1b"),
    ("unfinished DCS", "\x1bP"),
    ("device attributes", "\x1b[c"),
    ("secondary device attributes", "\x1b[>c"),
    ("cursor report", "\x1b[6n"),
    ("status report", "\x1b[5n"),
    ("cursor report with C1", "\u{9b}6n"),
    ("window report", "\x1b[21t"),
    ("window size", "\x1b[8;1;1t"),
    ("color query", "\x1b]11;?\x07"),
    ("color change", "\x1b]4;1;#ff0000\x07"),
    ("answerback", "\x05"),
    ("terminfo query", "\x1bP+q544e\x1b\\"),
    ("DECRQSS", "\x1bP$qm\x1b\\"),
    ("sixel", "\x1bPq#0;2;0;0;0#0~~\x1b\\"),
    ("kitty image", "\x1b_Ga=T,f=100;AAAA\x1b\\"),
    ("iTerm file", "\x1b]1337;File=inline=1:AAAA\x07"),
    ("tmux passthrough", "\x1bPtmux;\x1b\x1b]0;owned\x07\x1b\\"),
    ("notification", "\x1b]9;owned\x07"),
    ("notification 99", "\x1b]99;;owned\x1b\\"),
    ("notification 777", "\x1b]777;notify;a;b\x07"),
    ("hyperlink", "\x1b]8;;http://evil\x07here\x1b]8;;\x07"),
    ("shell integration", "\x1b]133;A\x07"),
    ("bell", "\x07\x07\x07"),
    ("clear screen", "\x1b[2J\x1b[3J\x1b[H"),
    ("cursor home", "\x1b[H"),
    ("cursor away", "\x1b[999;999H"),
    ("cursor up", "\x1b[99A"),
    ("save and restore", "\x1b7\x1b[H\x1b8"),
    ("reset", "\x1bc"),
    ("soft reset", "\x1b[!p"),
    ("alternate screen", "\x1b[?1049h"),
    ("mouse on", "\x1b[?1000h\x1b[?1003h"),
    ("paste off", "\x1b[?2004l"),
    ("cursor shown", "\x1b[?25h"),
    ("wrap off", "\x1b[?7l"),
    ("insert mode", "\x1b[4h"),
    ("scroll region", "\x1b[2;3r"),
    ("charset", "\x1b(0\x0e"),
    ("kitty keyboard", "\x1b[>31u"),
    ("synchronized update", "\x1b[?2026h"),
    ("line breaks", "\r\n\r\n\x0b\x0c\u{85}\u{2028}\u{2029}"),
    ("carriage return", "rm -rf /\rls        "),
    ("backspaces", "safe\x08\x08\x08\x08evil"),
    ("tabs", "\t\t\t\t\t\t\t\t\t\t\t\t"),
    ("delete and null", "\x7f\0\x7f\0"),
    ("bidi override", "\u{202e}gnp.exe"),
    ("bidi isolates", "\u{2066}\u{2067}\u{2068}x\u{2069}"),
    ("bidi marks", "\u{200e}\u{200f}\u{61c}x"),
    ("C1 controls", "\u{80}\u{84}\u{85}\u{88}\u{8d}\u{8e}\u{8f}\u{90}\u{98}\u{9a}\u{9e}\u{9f}"),
    ("invisible", "\u{200b}\u{2060}\u{feff}\u{ad}\u{180e}"),
    ("tags", "a\u{e0072}\u{e006d}b\u{e007f}"),
    ("annotations", "\u{fff9}\u{fffa}\u{fffb}"),
];

/// A block of one line with a hostile text and a hostile link.
struct Hostile(String);

impl Block for Hostile {
    fn render(&mut self, _view: View<'_>) -> Lines {
        let text = Span::new(self.0.clone(), Style::PLAIN.bold()).link(self.0.as_str());
        Rc::new([Line::plain("before"), Line::from_spans([text]), Line::plain("after")])
    }
}

/// Floods: they must not take more of the terminal than their columns.
fn floods() -> Vec<(&'static str, String)> {
    vec![
        ("combining characters", format!("a{}", "\u{301}".repeat(20_000))),
        ("zero width joiners", format!("a{}", "\u{200d}".repeat(20_000))),
        ("variation selectors", format!("a{}", "\u{fe0f}".repeat(20_000))),
        ("joined emoji", "\u{1f469}\u{200d}".repeat(5_000)),
        ("a long line", "x".repeat(100_000)),
        ("wide characters", "日本".repeat(10_000)),
        ("flags", "\u{1f1e9}".repeat(5_000)),
        ("no base", "\u{301}".repeat(20_000)),
        ("tag characters", format!("\u{1f3f4}{}", "\u{e0067}".repeat(5_000))),
        ("a long link", format!("http://{}", "x".repeat(50_000))),
    ]
}

fn attacks() -> Vec<(&'static str, String)> {
    let table = ATTACKS.iter().map(|(name, text)| (*name, format!("<{text}>")));
    table.chain(floods()).collect()
}

/// Writes a frame and checks that the terminal only shows text.
fn check(name: &str, terminal: &mut Emulator, bytes: &[u8], rows: &[&str]) {
    let mode = terminal.mode();
    terminal.feed(bytes);
    let reports = terminal.reports();
    assert_eq!(reports.titles, [""; 0], "{name}");
    assert_eq!(reports.clipboard, [""; 0], "{name}");
    assert_eq!(reports.answers, b"", "{name}");
    assert_eq!(reports.bells, 0, "{name}");
    assert_eq!(terminal.mode(), mode, "{name}");
    let screen = terminal.screen();
    for (row, expected) in rows.iter().enumerate().filter(|(_, expected)| **expected != "?") {
        assert_eq!(screen[row], *expected, "{name}: {screen:?}");
    }
    assert!(bytes.len() < 20_000, "{name} writes {} bytes", bytes.len());
    let text = std::str::from_utf8(bytes).unwrap();
    let forbidden = |character: &char| {
        matches!(*character, '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(*character, '\u{e0000}'..='\u{e0fff}')
            || (*character < ' ' && !matches!(*character, '\x1b' | '\r' | '\n'))
    };
    assert_eq!(text.chars().find(forbidden), None, "{name}");
    let links = text.matches("\x1b]8;;").count();
    assert_eq!(text.matches("\x1b]").count(), links, "{name}");
    assert_eq!(text.matches("\x1b\\").count(), links, "{name}");
    assert!(!text.contains("\x1bP") && !text.contains("\x1b_"), "{name}");
}

#[test]
fn only_text_reaches_the_regular_screen() {
    let theme = Theme::plain();
    for (name, attack) in attacks() {
        let mut terminal = Emulator::new(40, 10);
        terminal.feed(b"\x1b[?25l");
        let mut blocks = Blocks::new();
        blocks.push(Box::new(Hostile(attack.clone())));
        let encoder = Encoder::new(ColorDepth::True).with_hyperlinks();
        let mut screen = RegularScreen::new(Size::new(40, 10), encoder);
        let mut dock = vec![Line::plain(attack), Line::plain("end")];
        dock[1].caret = Some(2);
        let mut out = Vec::new();
        screen.draw(&mut blocks, &frame(&theme, &dock), &mut out);
        check(name, &mut terminal, &out, &["before", "?", "after", "?", "end", "", ""]);
        assert_eq!(terminal.cursor(), (4, 2), "{name}");
    }
}

#[test]
fn only_text_reaches_the_full_screen() {
    let theme = Theme::plain();
    for (name, attack) in attacks() {
        let mut terminal = Emulator::new(40, 10);
        let encoder = Encoder::new(ColorDepth::True).with_hyperlinks();
        let mut screen = FullScreen::new(Size::new(40, 10), encoder);
        terminal.feed(super::FULLSCREEN);
        terminal.feed(b"\x1b[?25l");
        let mut blocks = Blocks::new();
        blocks.push(Box::new(Hostile(attack.clone())));
        let mut dock = vec![Line::plain(attack), Line::plain("end")];
        dock[1].caret = Some(2);
        let mut out = Vec::new();
        screen.draw(&mut blocks, &frame(&theme, &dock), &mut out);
        let rows = ["before", "?", "after", "", "", "", "", "", "?", "end"];
        check(name, &mut terminal, &out, &rows);
        assert_eq!(terminal.cursor(), (9, 2), "{name}");
    }
}

#[test]
fn what_is_left_of_an_attack_is_readable() {
    let theme = Theme::plain();
    let mut terminal = Emulator::new(60, 10);
    let mut screen = RegularScreen::new(Size::new(60, 10), Encoder::new(ColorDepth::True));
    let mut blocks = Blocks::new();
    let text = "a\x1b]0;owned\x07b\x1b[31mc\u{9b}2Jd\u{202e}e\x07f".to_owned();
    blocks.push(Box::new(Hostile(text)));
    let mut out = Vec::new();
    screen.draw(&mut blocks, &frame(&theme, &[]), &mut out);
    terminal.feed(&out);
    assert_eq!(terminal.screen()[1], "a]0;ownedb[31mc2Jdef");
}

#[test]
fn emoji_that_terminals_measure_differently_do_not_move_what_follows() {
    // The emulator counts each character of a cluster; the screen counts the cluster.
    let theme = Theme::plain();
    for cluster in ["👩\u{200d}👩\u{200d}👧", "⚠\u{fe0f}", "🇩🇪", "👍🏽"] {
        let mut terminal = Emulator::new(20, 4);
        let mut screen = RegularScreen::new(Size::new(20, 4), Encoder::new(ColorDepth::True));
        let mut blocks = Blocks::new();
        blocks.push(Box::new(Hostile(format!("{cluster}|{}{cluster}", "x".repeat(15)))));
        let mut out = Vec::new();
        screen.draw(&mut blocks, &frame(&theme, &[]), &mut out);
        terminal.feed(&out);
        let row: String = terminal.styled()[1][2..18].iter().map(|cell| cell.0).collect();
        assert_eq!(row, format!("|{}", "x".repeat(15)), "{cluster}");
        assert_eq!(terminal.screen()[2], "after", "{cluster}");
    }
}
