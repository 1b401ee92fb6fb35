//! Boxes, rows, columns, stacks.

use std::cell::Cell;
use std::rc::Rc;

use pi_tui::layout::{Padding, Spacer, Stack, boxed, columns, justified, rule};
use pi_tui::{Color, Component, Line, LineEnd, Lines, Span, Style, Theme, View};

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

#[test]
fn boxes_have_padding_and_a_background_over_the_full_width() {
    let blue = Color::Indexed(4);
    let padding = Padding { x: 1, y: 1 };
    let mut line = Line::from_spans([
        Span::new("a", Style::PLAIN),
        Span::new("漢", Style::bg(Color::Indexed(1))),
    ]);
    line.caret = Some(1);
    line.end = LineEnd::Space;
    line.is_prompt = true;
    let lines = boxed(&[line], 8, padding, blue);
    assert_eq!(texts(&lines), ["        ", " a漢    ", "        "]);
    let on = Style::bg(blue);
    let expected = [
        Span::layout(" ", on),
        Span::new("a", on),
        Span::new("漢", Style::bg(Color::Indexed(1))),
        Span::layout("    ", on),
    ];
    assert_eq!(lines[1].spans(), expected);
    assert_eq!((lines[1].caret, lines[1].end), (Some(2), LineEnd::Space));
    assert!(lines[1].is_prompt);

    // Without a background there is nothing to fill.
    assert_eq!(texts(&boxed(&[Line::plain("a")], 8, padding, Color::Default)), ["", " a", ""]);
    assert_eq!(boxed(&[], 8, padding, blue).len(), 0);
}

#[test]
fn the_padding_of_narrow_boxes_shrinks() {
    let padding = Padding { x: 2, y: 0 };
    for (width, inner) in [(10, 6), (5, 1), (4, 2), (3, 1), (2, 2), (1, 1), (0, 0)] {
        assert_eq!(padding.inner(width), inner, "{width}");
        for line in boxed(&[Line::plain("long text")], width, padding, Color::Indexed(4)) {
            assert_eq!(line.width(), width);
        }
    }
}

#[test]
fn rows_keep_their_left_end() {
    let cases = [
        ("left", "right", 12, "left   right"),
        ("left", "right", 11, "left  right"),
        ("left", "right", 10, "left  rig…"),
        ("left", "right", 7, "left  …"),
        ("left", "right", 6, "left"),
        ("left", "right", 3, "le…"),
        ("left", "right", 0, ""),
        ("", "right", 8, "   right"),
        ("left", "", 8, "left"),
        ("漢字", "漢字", 9, "漢字  漢…"),
    ];
    for (left, right, width, expected) in cases {
        let row = justified(&Line::plain(left), &Line::plain(right), width);
        assert_eq!(row.text(), expected, "{left} and {right} in {width}");
    }
    let line = rule(3, Style::PLAIN);
    assert_eq!(line.spans(), [Span::layout("───", Style::PLAIN)]);
}

#[test]
fn columns_are_side_by_side() {
    let left = [Line::plain("one"), Line::plain("two words")];
    let right = [Line::plain("a"), Line::plain("b"), Line::plain("c")];
    let lines = columns(&[(&left, 5), (&right, 3)], 1);
    assert_eq!(texts(&lines), ["one   a", "two … b", "      c"]);
    assert_eq!(columns(&[], 1).len(), 0);
}

struct Counter {
    lines: Lines,
    count: Rc<Cell<usize>>,
}

impl Component for Counter {
    fn render(&mut self, _view: View<'_>) -> Lines {
        let count = self.count.get();
        if self.lines.len() != count {
            self.lines = vec![Line::plain("x"); count].into();
        }
        Rc::clone(&self.lines)
    }
}

#[test]
fn stacks_join_lines_again_only_after_a_change() {
    let theme = Theme::plain();
    let view = View { width: 10, rows: 5, theme: &theme };
    let count = Rc::new(Cell::new(1));
    let mut stack = Stack::new();
    assert!(stack.is_empty());
    assert_eq!(stack.render(view).len(), 0);
    stack.push(Counter { lines: Rc::new([]), count: Rc::clone(&count) });
    stack.push(Spacer::new(2));
    let first = stack.render(view);
    assert_eq!(texts(&first), ["x", "", ""]);
    assert!(Rc::ptr_eq(&first, &stack.render(view)));
    count.set(2);
    assert_eq!(texts(&stack.render(view)), ["x", "x", "", ""]);
    stack.clear();
    assert_eq!(stack.render(view).len(), 0);
}
