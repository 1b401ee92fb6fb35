//! Places of overlays, and the one that has the focus.

use std::cell::RefCell;
use std::rc::Rc;

use pi_tui::input::{Input, Key};
use pi_tui::overlay::{Anchor, Length, Margins, OverlayOptions, Overlays, Rect, place};
use pi_tui::{Component, Line, Lines, Size, Theme, View};
use proptest::prelude::*;

fn rect(column: usize, row: usize, width: usize, height: usize) -> Rect {
    Rect { column, row, width, height }
}

#[test]
fn options_decide_the_place() {
    use Length::{Cells, Percent};
    let size = Size::new(100, 40);
    let sized = OverlayOptions { width: Some(Cells(20)), ..OverlayOptions::default() };
    let at = |anchor| OverlayOptions { anchor, ..sized };
    let edges = Margins { top: 1, right: 2, bottom: 3, left: 4 };
    let cases = [
        (OverlayOptions::default(), rect(10, 15, 80, 10)),
        (
            OverlayOptions { margins: Margins::all(15), ..OverlayOptions::default() },
            rect(15, 15, 70, 10),
        ),
        (sized, rect(40, 15, 20, 10)),
        (at(Anchor::TopLeft), rect(0, 0, 20, 10)),
        (at(Anchor::TopCenter), rect(40, 0, 20, 10)),
        (at(Anchor::TopRight), rect(80, 0, 20, 10)),
        (at(Anchor::LeftCenter), rect(0, 15, 20, 10)),
        (at(Anchor::RightCenter), rect(80, 15, 20, 10)),
        (at(Anchor::BottomLeft), rect(0, 30, 20, 10)),
        (at(Anchor::BottomCenter), rect(40, 30, 20, 10)),
        (at(Anchor::BottomRight), rect(80, 30, 20, 10)),
        (OverlayOptions { margins: edges, ..at(Anchor::TopLeft) }, rect(4, 1, 20, 10)),
        (OverlayOptions { margins: edges, ..at(Anchor::BottomRight) }, rect(78, 27, 20, 10)),
        (OverlayOptions { width: Some(Percent(50)), ..sized }, rect(25, 15, 50, 10)),
        (OverlayOptions { width: Some(Percent(1)), min_width: 30, ..sized }, rect(35, 15, 30, 10)),
        (OverlayOptions { width: Some(Cells(500)), ..sized }, rect(0, 15, 100, 10)),
        (OverlayOptions { width: Some(Cells(0)), ..sized }, rect(49, 15, 1, 10)),
        (OverlayOptions { max_height: Some(Cells(4)), ..sized }, rect(40, 18, 20, 4)),
        (OverlayOptions { max_height: Some(Percent(10)), ..sized }, rect(40, 18, 20, 4)),
        (OverlayOptions { offset_x: -5, offset_y: 2, ..sized }, rect(35, 17, 20, 10)),
        (OverlayOptions { offset_x: -99, offset_y: 99, ..sized }, rect(0, 30, 20, 10)),
        (
            OverlayOptions { row: Some(Cells(3)), column: Some(Cells(7)), ..sized },
            rect(7, 3, 20, 10),
        ),
        (
            OverlayOptions { row: Some(Percent(100)), column: Some(Percent(25)), ..sized },
            rect(20, 30, 20, 10),
        ),
        (OverlayOptions { row: Some(Cells(99)), ..sized }, rect(40, 30, 20, 10)),
        (OverlayOptions { row: Some(Cells(0)), margins: edges, ..sized }, rect(41, 1, 20, 10)),
    ];
    for (options, expected) in cases {
        assert_eq!(place(&options, size, 10), expected, "{options:?}");
    }
    assert_eq!(place(&sized, size, 99), rect(40, 0, 20, 40), "more content than rows");
}

proptest! {
    #[test]
    fn overlays_are_within_the_terminal(
        columns in 1..50usize,
        rows in 1..30usize,
        height in 0..60usize,
        margin in 0..40usize,
        width in 0..200usize,
        offset in -90..90isize,
        row in prop::option::of(0..300usize),
    ) {
        let options = OverlayOptions {
            width: Some(Length::Percent(width)),
            margins: Margins::all(margin),
            offset_x: offset,
            offset_y: offset,
            row: row.map(Length::Percent),
            column: row.map(Length::Cells),
            ..OverlayOptions::default()
        };
        let rect = place(&options, Size::new(columns, rows), height);
        prop_assert!(rect.column + rect.width <= columns, "{rect:?}");
        prop_assert!(rect.row + rect.height <= rows, "{rect:?}");
        prop_assert!(rect.width > 0);
    }
}

/// A component that records what is typed.
#[derive(Default)]
struct Field(String);

impl Component for Field {
    fn render(&mut self, view: View<'_>) -> Lines {
        let mut line = Line::plain(format!("{} {}", self.0, view.width));
        line.caret = Some(0);
        vec![line; 3].into()
    }

    fn handle(&mut self, input: &Input) -> bool {
        let Input::Key(Key { text: Some(text), .. }) = input else { return false };
        self.0.push_str(text);
        true
    }
}

#[test]
fn input_goes_to_the_overlay_with_the_focus() {
    let size = Size::new(40, 10);
    let mut overlays = Overlays::new();
    let fields: Vec<_> = (0..3).map(|_| Rc::new(RefCell::new(Field::default()))).collect();
    let press = |overlays: &mut Overlays, letter: char| {
        overlays.handle(&Input::Key(Key::typed(letter)), size)
    };
    let typed = || fields.iter().map(|field| field.borrow().0.clone()).collect::<Vec<_>>();
    assert_eq!(press(&mut overlays, 'x'), None, "no overlay is open");

    let options = OverlayOptions::default();
    let passive = OverlayOptions { is_passive: true, ..options };
    let first = overlays.show(Box::new(Rc::clone(&fields[0])), options);
    let second = overlays.show(Box::new(Rc::clone(&fields[1])), options);
    let third = overlays.show(Box::new(Rc::clone(&fields[2])), passive);
    press(&mut overlays, 'a');
    assert_eq!(typed(), ["", "a", ""], "a passive overlay takes no focus");

    overlays.focus(third);
    press(&mut overlays, 'b');
    assert_eq!(typed(), ["", "a", "b"]);
    overlays.unfocus(third);
    press(&mut overlays, 'c');
    assert_eq!(typed(), ["", "ac", "b"]);

    overlays.focus(first);
    overlays.set_hidden(first, true);
    assert!(overlays.is_hidden(first));
    press(&mut overlays, 'd');
    assert_eq!(typed(), ["", "acd", "b"], "the topmost visible one");
    overlays.set_hidden(first, false);
    press(&mut overlays, 'e');
    assert_eq!(typed(), ["e", "acd", "b"], "the focus comes back");

    assert!(overlays.hide(first).is_some());
    assert!(overlays.hide(first).is_none());
    assert!(overlays.is_hidden(first));
    press(&mut overlays, 'f');
    assert_eq!(typed(), ["e", "acdf", "b"]);
    overlays.hide(second);
    assert_eq!(press(&mut overlays, 'g'), None, "a passive overlay is left");
    overlays.hide(third);
    assert!(overlays.is_empty());
}

#[test]
fn rendered_overlays_have_places_and_one_caret() {
    let theme = Theme::plain();
    let view = View { width: 40, rows: 10, theme: &theme };
    let mut overlays = Overlays::new();
    let narrow = OverlayOptions {
        width: Some(Length::Cells(10)),
        max_height: Some(Length::Cells(2)),
        anchor: Anchor::TopLeft,
        ..OverlayOptions::default()
    };
    let wide = OverlayOptions { min_terminal: Some(Size::new(80, 24)), ..narrow };
    let first = overlays.show(Box::new(Field::default()), narrow);
    let second = overlays.show(Box::new(Field::default()), OverlayOptions::default());
    let third = overlays.show(Box::new(Field::default()), wide);

    let placed = overlays.render(view);
    let shown: Vec<_> = placed
        .iter()
        .map(|it| (it.row, it.column, it.width, it.lines.len(), it.lines[0].caret))
        .collect();
    assert_eq!(shown, [(0, 0, 10, 2, None), (3, 0, 40, 3, Some(0))]);
    assert_eq!(placed[0].lines[0].text(), " 10");
    assert_eq!(overlays.bounds(first), Some(rect(0, 0, 10, 2)));
    assert_eq!(overlays.bounds(second), Some(rect(0, 3, 40, 3)));
    assert_eq!(overlays.bounds(third), None, "the terminal is too small");

    overlays.focus(first);
    let placed = overlays.render(view);
    assert_eq!(placed.last().map(|it| (it.width, it.lines[0].caret)), Some((10, Some(0))));
}
