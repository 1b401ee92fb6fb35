//! Lists: keys in, events and lines out.

use std::time::Duration;

use pi_tui::input::defaults::Platform;
use pi_tui::input::{Input, Key, KeyCode, KeyKind, Keymap, Modifiers};
use pi_tui::list::{
    Item, ListEvent, SelectList, Selection, Setting, SettingsEvent, SettingsList, loader, window,
};
use pi_tui::{Line, Theme, View};

fn keymap() -> Keymap {
    Keymap::with_defaults(Platform::Unix, &[])
}

fn press(code: KeyCode) -> Key {
    Key::new(code, Modifiers::NONE)
}

fn shown(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text().trim_end())).collect()
}

fn commands(rows: usize) -> SelectList<usize> {
    let names = ["settings", "model", "tree", "thinking", "scoped-models", "export", "import"];
    let items = names.iter().enumerate().map(|(index, name)| {
        Item::new(index, *name).description(format!("Explains {name} in a few words"))
    });
    SelectList::new(items.collect(), rows)
}

#[test]
fn the_window_follows_the_selection() {
    let cases = [
        (0, 0, 5, 0..0),
        (3, 2, 5, 0..3),
        (33, 0, 10, 0..10),
        (33, 5, 10, 0..10),
        (33, 10, 10, 5..15),
        (33, 30, 10, 23..33),
        (33, 32, 10, 23..33),
        (5, 4, 1, 4..5),
        (5, 2, 0, 2..2),
    ];
    for (len, selected, rows, expected) in cases {
        assert_eq!(window(len, selected, rows), expected, "{selected} of {len} in {rows}");
    }
}

#[test]
fn keys_move_the_selection() {
    use KeyCode::{Down, Enter, Escape, PageDown, PageUp, Up};
    let keymap = keymap();
    let moves = |mut selection: Selection, keys: &[KeyCode]| {
        let event = keys.iter().map(|code| selection.handle(&press(*code), &keymap)).last();
        (selection.index(), event.unwrap_or(ListEvent::Ignored))
    };
    let list = || Selection::new(10, 4);
    assert_eq!(moves(list(), &[Down, Down]), (2, ListEvent::Moved));
    assert_eq!(moves(list(), &[Up]), (9, ListEvent::Moved));
    assert_eq!(moves(list(), &[Up, Down]), (0, ListEvent::Moved));
    assert_eq!(moves(list().stopping_at_ends(), &[Up]), (0, ListEvent::Moved));
    assert_eq!(moves(list(), &[PageDown, PageDown, PageDown]), (9, ListEvent::Moved));
    assert_eq!(moves(list(), &[PageDown, PageUp, PageUp]), (0, ListEvent::Moved));
    assert_eq!(moves(list(), &[Down, Enter]), (1, ListEvent::Confirmed));
    assert_eq!(moves(list(), &[Escape]), (0, ListEvent::Cancelled));
    assert_eq!(moves(list(), &[KeyCode::Tab]), (0, ListEvent::Ignored));
    let empty = || Selection::new(0, 4);
    assert_eq!(moves(empty(), &[Up, Down, PageDown, Enter]), (0, ListEvent::Ignored));

    let mut letters = list().with_letter_keys();
    assert_eq!(letters.handle(&Key::typed('j'), &keymap), ListEvent::Moved);
    assert_eq!(letters.index(), 1);
    assert_eq!(list().handle(&Key::typed('j'), &keymap), ListEvent::Ignored);
    let release = Key { kind: KeyKind::Release, ..press(Down) };
    assert_eq!(list().handle(&release, &keymap), ListEvent::Ignored);
}

#[test]
fn rows_have_a_marker_a_label_and_a_description() {
    let theme = Theme::plain();
    let view = |width| View { width, rows: 24, theme: &theme };
    let mut list = commands(5);
    list.handle(&press(KeyCode::Down), &keymap());
    insta::assert_snapshot!(shown(&list.lines(view(60))), @r"
      settings       Explains settings in a few words
    → model          Explains model in a few words
      tree           Explains tree in a few words
      thinking       Explains thinking in a few words
      scoped-models  Explains scoped-models in a few words
      (2/7)
    ");
    insta::assert_snapshot!(shown(&list.lines(view(40))), @r"
      settings
    → model
      tree
      thinking
      scoped-models
      (2/7)
    ");
    for width in 0..60 {
        for line in list.lines(view(width)) {
            assert!(line.width() <= width, "{line:?} in {width}");
        }
    }
}

#[test]
fn a_filter_shows_the_best_match_first() {
    let theme = Theme::plain();
    let view = View { width: 50, rows: 24, theme: &theme };
    let mut list = commands(5);
    list.filter("mo");
    insta::assert_snapshot!(shown(&list.lines(view)), @r"
    → model          Explains model in a few words
      scoped-models  Explains scoped-models in a fe…
      import         Explains import in a few words
    ");
    assert_eq!(list.selected().map(|item| item.value), Some(1));
    list.select(|value| *value == 6);
    assert_eq!(list.selected().map(|item| item.label.as_str()), Some("import"));
    list.filter("zzz");
    assert_eq!(list.selected(), None);
    assert_eq!(shown(&list.lines(view)), "  No matches\n");
    list.filter("");
    assert_eq!(list.len(), 7);
}

#[test]
fn the_column_of_labels_has_limits() {
    let theme = Theme::plain();
    let view = View { width: 80, rows: 24, theme: &theme };
    let list = |label: &str| SelectList::new(vec![Item::new((), label).description("about")], 5);
    assert_eq!(list("a").lines(view)[0].text(), format!("→ {:<12}about", "a"));
    let long = "a".repeat(50);
    assert_eq!(list(&long).lines(view)[0].text(), format!("→ {}…  about", "a".repeat(29)));
    let fixed = list("src/").with_columns(32, 32).lines(view)[0].text();
    assert_eq!(fixed, format!("→ {:<32}about", "src/"));
    let hostile = list("a\u{1b}[2J\nb").lines(view)[0].text();
    assert!(!hostile.contains(char::is_control), "{hostile:?}");
}

fn settings() -> SettingsList {
    let setting = |label: &str, value: &str, values: &[&str]| Setting {
        id: label.to_lowercase(),
        label: label.to_owned(),
        description: format!("Explains what {label} does, at some length"),
        value: value.to_owned(),
        values: values.iter().map(ToString::to_string).collect(),
        ..Setting::default()
    };
    let settings = vec![
        setting("Auto-compact", "true", &["true", "false"]),
        setting("Editor padding", "0", &["0", "1", "2", "3"]),
        setting("Transport", "other", &["sse", "websocket"]),
        setting("Theme", "system", &[]),
    ];
    SettingsList::new(settings, 3, "space changes the value").with_search()
}

#[test]
fn settings_show_values_and_an_explanation() {
    let theme = Theme::plain();
    let view = |width| View { width, rows: 24, theme: &theme };
    let mut list = settings();
    insta::assert_snapshot!(shown(&list.lines(view(36))), @r"
    >

    → Auto-compact    true
      Editor padding  0
      Transport       other
      (1/4)

      Explains what Auto-compact does,
      at some length

      space changes the value
    ");
    assert_eq!(list.lines(view(36))[0].caret, Some(2));
    for width in 0..40 {
        for line in list.lines(view(width)) {
            assert!(line.width() <= width, "{line:?} in {width}");
        }
    }
}

#[test]
fn keys_change_settings() {
    let keymap = keymap();
    let mut list = settings();
    let mut handle = |key: Key| list.handle(&Input::Key(key), &keymap);
    let changed = |id: &str, value: &str| SettingsEvent::Changed {
        id: id.to_owned(),
        value: value.to_owned(),
    };
    assert_eq!(handle(press(KeyCode::Enter)), changed("auto-compact", "false"));
    assert_eq!(handle(Key::typed(' ')), changed("auto-compact", "true"));
    let release = Key { kind: KeyKind::Release, ..Key::typed(' ') };
    assert_eq!(handle(release), SettingsEvent::Ignored);
    for letter in "tran".chars() {
        assert_eq!(handle(Key::typed(letter)), SettingsEvent::Moved);
    }
    // A value that is not in the list is followed by the first one.
    assert_eq!(handle(press(KeyCode::Enter)), changed("transport", "sse"));
    handle(Key::new(KeyCode::Char('u'), Modifiers::CTRL));
    handle(press(KeyCode::Up));
    let opened = SettingsEvent::Opened { id: "theme".to_owned() };
    assert_eq!(handle(press(KeyCode::Enter)), opened);
    assert_eq!(handle(press(KeyCode::Escape)), SettingsEvent::Cancelled);

    list.set_value("theme", "dark");
    assert_eq!(list.value("theme"), Some("dark"));
    list.handle(&Input::Paste("zzz".to_owned()), &keymap);
    // Without a match there is nothing to change.
    assert_eq!(list.handle(&Input::Key(press(KeyCode::Enter)), &keymap), SettingsEvent::Moved);
    assert_eq!(list.value("theme"), Some("dark"));
}

#[test]
fn the_loader_depends_on_the_time_alone() {
    let at = Duration::from_millis;
    assert_eq!(loader::frame(at(0)), "⠋");
    assert_eq!(loader::frame(at(79)), "⠋");
    assert_eq!(loader::frame(at(80)), "⠙");
    assert_eq!(loader::frame(at(799)), "⠏");
    assert_eq!(loader::frame(at(800)), "⠋");
    assert_eq!(loader::until_next(at(0)), at(80));
    assert_eq!(loader::until_next(at(79)), at(1));
    let plain = pi_tui::Style::PLAIN;
    assert_eq!(loader::line(at(80), "Working", plain, plain).text(), "⠙ Working");
    assert_eq!(loader::line(at(0), "", plain, plain).text(), "⠋");
}
