//! The control sequences in the output of a program, as words: `CSI m`, `OSC 8`, `DEC 2026`.

use std::collections::BTreeSet;

use alacritty_terminal::vte::{Params, Parser, Perform};

#[derive(Default)]
struct Sequences(Vec<String>);

impl Perform for Sequences {
    fn execute(&mut self, byte: u8) {
        if !matches!(byte, b'\r' | b'\n') {
            self.0.push(format!("control {byte:02x}"));
        }
    }

    fn print(&mut self, letter: char) {
        // The parser takes them for text; terminals may not.
        let direction = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if letter.is_control() || direction {
            self.0.push(format!("character {:04x}", u32::from(letter)));
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _: bool, action: char) {
        let before = String::from_utf8_lossy(intermediates).into_owned();
        match (before.as_str(), action) {
            ("?", 'h' | 'l') => {
                self.0.extend(params.iter().map(|mode| format!("DEC {}", mode[0])));
            }
            ("", 'J') => {
                let what = params.iter().next().map_or(0, |param| param[0]);
                self.0.push(format!("CSI {what}J"));
            }
            _ => self.0.push(format!("CSI {before}{action}")),
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        let before = String::from_utf8_lossy(intermediates);
        // `ESC \` ends a string and belongs to it.
        if byte != b'\\' {
            self.0.push(format!("ESC {before}{}", char::from(byte)));
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        let part = |at: usize| params.get(at).map(|part| String::from_utf8_lossy(part));
        let number = part(0).unwrap_or_default();
        match number.as_ref() {
            "8" => {
                let target = params.get(2..).unwrap_or_default().concat();
                self.0
                    .push(format!("OSC 8 {}", String::from_utf8_lossy(&target)).trim().to_owned());
            }
            _ => self.0.push(format!("OSC {number}")),
        }
    }

    fn hook(&mut self, _: &Params, _: &[u8], _: bool, action: char) {
        self.0.push(format!("DCS {action}"));
    }
}

/// Returns the sequences in the output, each once.
pub(crate) fn sequences(output: &[u8]) -> BTreeSet<String> {
    let mut found = Sequences::default();
    Parser::new().advance(&mut found, output);
    let mut found: BTreeSet<String> = found.0.into_iter().collect();
    // The parser ignores these strings without a word.
    let text = String::from_utf8_lossy(output);
    found.extend(
        ["\x1b_", "\x1b^", "\x1bX"]
            .iter()
            .filter(|start| text.contains(**start))
            .map(|start| format!("string {start:?}")),
    );
    found
}

#[test]
fn sequences_are_named() {
    let output = "a\r\n\x1b[1;2H\x1b[?2026h\x1b[3J\x1b]8;;http://x\x1b\\b\x1b]0;t\x07\x1bc\x07\u{202e}\x1b_x\x1b\\";
    let expected = [
        "CSI 3J",
        "CSI H",
        "DEC 2026",
        "ESC c",
        "OSC 0",
        "OSC 8 http://x",
        "character 202e",
        "control 07",
        "string \"\\u{1b}_\"",
    ];
    assert_eq!(sequences(output.as_bytes()).into_iter().collect::<Vec<_>>(), expected);
}
