//! Editors of components in JavaScript: the text, the caret and its history are here.
//!
//! JavaScript knows an editor by a number and frees it when its component is collected.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use pi_tui::editor::{Editor, Position};
use pi_tui::input::defaults::Platform;
use pi_tui::input::{Decoder, Event, Keymap};
use pi_tui::{EditorEvent, Line, NoCompleter, Theme, View, text};
use rquickjs::{Array, Ctx, IntoJs as _, Object, Value};

use crate::error::NativeError;
use crate::host::{Answer, Call, Natives, Thrown};
use crate::value::Plain;

/// Editors that can exist at once: their texts are outside of the memory limit of the engine.
const MAX_EDITORS: usize = 1024;
/// Bytes that are written to all editors together, as far as they can be undone.
const MAX_TOTAL: usize = 256 << 20;
/// Bytes that one call can add to a text.
const MAX_TEXT: usize = 4 << 20;
/// Bytes that are written to an editor before its edits can no longer be undone.
const MAX_WRITTEN: usize = 32 << 20;

/// The editors of a thread.
#[derive(Default)]
struct Editors {
    editors: RefCell<BTreeMap<u32, Own>>,
    /// `None` is the standard one.
    keymap: RefCell<Option<Keymap>>,
    next: Cell<u32>,
}

/// An editor, and the input that is not complete.
struct Own {
    editor: Editor,
    decoder: Decoder,
    /// Bytes written since edits were forgotten.
    written: usize,
}

impl Editors {
    fn with<T: Default>(&self, id: u32, access: impl FnOnce(&mut Own) -> T) -> T {
        self.editors.borrow_mut().get_mut(&id).map(access).unwrap_or_default()
    }

    fn create(&self) -> Result<u32, NativeError> {
        if self.editors.borrow().len() >= MAX_EDITORS {
            return Err(NativeError::of("RangeError", "too many editors exist at once"));
        }
        let id = self.next.get() + 1;
        self.next.set(id);
        let mut editor = Editor::new();
        editor.set_hardware_cursor(true);
        let own = Own { editor, decoder: Decoder::default(), written: 0 };
        self.editors.borrow_mut().insert(id, own);
        Ok(id)
    }
}

pub(super) const FUNCTIONS: Natives = &[
    ("create", |call| call.reply(call.host.area::<Editors>().create()?)),
    ("free", |call| {
        call.host.area::<Editors>().editors.borrow_mut().remove(&call.id(0)?);
        call.done()
    }),
    ("setKeys", |call| {
        let mut keymap = Keymap::with_defaults(Platform::Unix, &[]);
        // What is wrong in the user's file is reported when it is read.
        let _ = keymap.apply(&call.json(0)?);
        *call.host.area::<Editors>().keymap.borrow_mut() = Some(keymap);
        call.done()
    }),
    ("text", |call| with(call, |own| own.editor.displayed_text())),
    ("expanded", |call| with(call, |own| own.editor.text())),
    ("setText", |call| {
        let text = checked_text(call)?;
        with(call, |own| {
            own.spend(text.len());
            own.editor.set_text(&text);
        })
    }),
    ("insert", |call| {
        let text = checked_text(call)?;
        with(call, |own| {
            own.spend(text.len());
            own.editor.insert(&text);
        })
    }),
    // A text and the place of the caret in it, counted as in JavaScript.
    ("replace", |call| {
        let (text, line, column) = (checked_text(call)?, call.columns(2)?, call.columns(3)?);
        let content = text.split('\n').nth(line).unwrap_or_default();
        let caret = Position::new(line, byte_offset(content, column));
        with(call, |own| {
            own.spend(text.len());
            own.editor.set_displayed_text(&text, caret);
        })
    }),
    ("addHistory", |call| {
        let text = call.any_text(1)?;
        with(call, |own| own.editor.add_history(&text))
    }),
    ("caret", |call| {
        with(call, |own| {
            let caret = own.editor.displayed_caret();
            let text = own.editor.displayed_text();
            let line = text.split('\n').nth(caret.line).unwrap_or_default();
            let before = line.get(..caret.column).unwrap_or_default();
            vec![caret.line as f64, before.encode_utf16().count() as f64]
        })
    }),
    // Handles input; returns the effects, one text each: `changed`, `blocked`, `submit:TEXT`.
    ("input", |call| {
        let data = checked_text(call)?;
        let editors = call.host.area::<Editors>();
        let mut keymap = editors.keymap.borrow_mut();
        let keymap = keymap.get_or_insert_with(|| Keymap::with_defaults(Platform::Unix, &[]));
        with(call, |own| {
            own.spend(data.len());
            own.input(&data, keymap)
        })
    }),
    ("setCanSubmit", |call| {
        let can_submit = call.flag(1)?;
        with(call, |own| own.editor.set_submit_enabled(can_submit))
    }),
    // Clicks at a row and a column below the upper border.
    ("click", |call| {
        let (row, column) = (call.columns(1)?, call.columns(2)?);
        with(call, |own| own.click(row, column))
    }),
    // The visible rows; that of the caret is three texts: before, at and after it.
    ("rows", |call| {
        let theme = Theme::plain();
        let view = View { width: call.columns(1)?, rows: call.columns(2)?, theme: &theme };
        let padding = call.columns(3)?;
        let visible = call.host.area::<Editors>().with(call.id(0)?, |own| {
            own.editor.set_padding(padding);
            own.editor.rows(view)
        });
        let lines = Array::new(call.ctx().clone())?;
        for (at, line) in visible.lines.iter().enumerate() {
            lines.set(at, row(call.ctx(), line)?)?;
        }
        let object = Object::new(call.ctx().clone())?;
        object.set("lines", lines)?;
        object.set("above", visible.above)?;
        object.set("below", visible.below)?;
        Ok(object.into_value())
    }),
];

/// Accesses the editor of a call, and returns the result.
fn with<'js, T: Default + Into<Plain>>(
    call: &Call<'_, 'js>,
    access: impl FnOnce(&mut Own) -> T,
) -> Answer<'js> {
    call.reply(call.host.area::<Editors>().with(call.id(0)?, access))
}

/// Returns the text of a call. Refuses one that is too long, or that the editors have no room for.
fn checked_text(call: &Call<'_, '_>) -> Result<String, Thrown> {
    let text = call.any_text(1)?;
    let editors = call.host.area::<Editors>();
    let editors = editors.editors.borrow();
    let written: usize = editors.values().map(|own| own.written).sum();
    if text.len() <= MAX_TEXT && written + text.len() <= MAX_TOTAL {
        return Ok(text);
    }
    Err(NativeError::of("RangeError", "the text is too long for an editor").into())
}

impl Own {
    /// Counts bytes that are written. Earlier edits are forgotten when they are too many, and a
    /// text that has grown too long is cut.
    fn spend(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written <= MAX_WRITTEN {
            return;
        }
        self.written = bytes;
        let mut text = self.editor.text();
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        self.editor.clear();
        self.editor.set_text(&text);
    }

    fn input(&mut self, data: &str, keymap: &Keymap) -> Vec<String> {
        let mut events = Vec::new();
        self.decoder.push(data.as_bytes(), &mut events);
        self.decoder.flush(&mut events);
        let mut effects = Vec::new();
        for event in events {
            let Event::Input(input) = event else { continue };
            match self.editor.handle(&input, keymap, &mut NoCompleter) {
                EditorEvent::Changed => effects.push("changed".to_owned()),
                EditorEvent::SubmitBlocked => effects.push("blocked".to_owned()),
                EditorEvent::Submit(text) => effects.push(format!("submit:{text}")),
                _ => {}
            }
        }
        effects
    }

    fn click(&mut self, row: usize, column: usize) {
        use pi_tui::input::{Input, Mouse, MouseButton, MouseKind};
        let mouse = Mouse {
            kind: MouseKind::Press(MouseButton::Left),
            row,
            column,
            modifiers: Default::default(),
        };
        let keymap = Keymap::default();
        self.editor.handle(&Input::Mouse(mouse), &keymap, &mut NoCompleter);
    }
}

/// Converts a row.
fn row<'js>(ctx: &Ctx<'js>, line: &Line) -> rquickjs::Result<Value<'js>> {
    let content = line.text();
    let Some(caret) = line.caret else { return content.into_js(ctx) };
    let mut column = 0;
    let mut split = content.len();
    for (at, cluster) in clusters(&content) {
        if column >= caret {
            split = at;
            break;
        }
        column += text::grapheme_width(cluster);
    }
    let (before, rest) = content.split_at(split);
    let at = text::graphemes(rest).next().unwrap_or_default();
    let after = rest.get(at.len()..).unwrap_or_default();
    vec![before, at, after].into_js(ctx)
}

/// Returns the grapheme clusters of a text with their offsets.
fn clusters(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text::graphemes(content).map(move |cluster| {
        let start = at;
        at += cluster.len();
        (start, cluster)
    })
}

/// Returns the offset in bytes of a number of UTF-16 units.
fn byte_offset(line: &str, units: usize) -> usize {
    let mut left = units;
    for (at, character) in line.char_indices() {
        if left < character.len_utf16() {
            return at;
        }
        left -= character.len_utf16();
    }
    line.len()
}
