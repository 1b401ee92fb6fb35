//! Input of terminals: events do not depend on cuts, and control characters are never text.

use pi_tui::image::{ImageInfo, dropped};
use pi_tui::input::{Decoder, Event, Input};

use crate::Cuts;

/// The same bytes give the same events for any cuts. Pauses between them change events, but no
/// control character becomes text, and the decoder is ready for a key afterwards.
pub fn terminal_input(data: &[u8]) {
    let Some((cuts, body)) = Cuts::split_off(data) else { return };
    let whole = decode(&[body], false);
    assert_eq!(whole, decode(&cuts.of(body), false), "the events depend on the cuts");
    for events in [whole, decode(&cuts.of(body), true)] {
        for event in &events {
            if let Event::Input(Input::Key(key)) = event {
                let text = key.text.as_deref().unwrap_or_default();
                assert!(!text.contains(char::is_control), "{key:?}");
            }
        }
    }
    // A paste may be the paths of dropped files; a file may be an image.
    if let Ok(text) = std::str::from_utf8(body) {
        for is_wsl in [false, true] {
            let _ = dropped::image_paths(text, is_wsl);
        }
    }
    let _ = ImageInfo::read(body);
}

/// Decodes pieces, with a pause at the end, or after each one.
fn decode(pieces: &[&[u8]], pauses: bool) -> Vec<Event> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events);
        if pauses {
            decoder.flush(&mut events);
        }
    }
    decoder.flush(&mut events);
    assert!(decoder.timeout().is_none(), "a pause leaves nothing to wait for");
    events
}
