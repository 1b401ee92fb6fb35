//! Images on both screens, by the bytes that are written: the emulator shows none.

use std::rc::Rc;

use pi_tui::image::Placement;
use pi_tui::screen::Scroll;
use pi_tui::terminal::ImageProtocol;
use pi_tui::{
    Block, Blocks, ColorDepth, Encoder, FullScreen, Line, Lines, PlacedOverlay, RegularScreen,
    Size, Theme, View,
};

use super::{frame, lines, push};

/// An image of three rows.
struct Picture(u32);

impl Block for Picture {
    fn render(&mut self, _view: View<'_>) -> Lines {
        let png = std::sync::Arc::from(&b"png"[..]);
        let image = Placement { id: self.0, png, columns: 4, rows: 3 };
        let mut first = Line::plain("  ");
        first.image = Some(Rc::new(image));
        Rc::new([first, Line::new(), Line::new()])
    }
}

/// Returns what a frame did with images, in order.
fn actions(out: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(out);
    let commands = text.split("\x1b_G").skip(1).map(|rest| rest.split("\x1b\\").next().unwrap());
    commands.map(|command| command.split(',').next().unwrap().to_owned()).collect()
}

fn regular() -> RegularScreen {
    let mut screen = RegularScreen::new(Size::new(20, 6), Encoder::new(ColorDepth::True));
    screen.set_images(Some(ImageProtocol::Kitty));
    screen
}

fn draw(screen: &mut RegularScreen, blocks: &mut Blocks, overlays: &[PlacedOverlay]) -> String {
    let (theme, dock) = (Theme::plain(), lines(&["dock"]));
    let mut out = Vec::new();
    let frame = pi_tui::Frame { overlays, ..frame(&theme, &dock) };
    screen.draw(blocks, &frame, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_regular_screen_shows_an_image_when_its_rows_are_there() {
    let (mut screen, mut blocks) = (regular(), Blocks::new());
    push(&mut blocks, "before");
    blocks.push(Box::new(Picture(7)));
    let first = draw(&mut screen, &mut blocks, &[]);
    // Up from the last row of the image, at the end of its line, and back to the next row.
    assert!(first.contains("\r\n\r\n\x1b[2A\x1b[3G\x1b7\x1b_Ga=T,"), "{first:?}");
    assert!(first.contains("\x1b8\x1b[2B\r\ndock"), "{first:?}");

    // The image scrolls with the text.
    for _ in 0..5 {
        push(&mut blocks, "after");
        let out = draw(&mut screen, &mut blocks, &[]);
        assert_eq!(actions(out.as_bytes()), [""; 0]);
    }
}

#[test]
fn an_overlay_hides_images() {
    let (mut screen, mut blocks) = (regular(), Blocks::new());
    blocks.push(Box::new(Picture(8)));
    let menu = PlacedOverlay { row: 0, column: 0, width: 4, lines: lines(&["menu"]).into() };
    let mut seen = Vec::new();
    for overlays in [&[][..], &[menu], &[]] {
        seen.extend(actions(draw(&mut screen, &mut blocks, overlays).as_bytes()));
    }
    assert_eq!(seen, ["a=T", "a=d", "a=p"]);
}

#[test]
fn an_image_that_is_removed_leaves_the_screen() {
    let (mut screen, mut blocks) = (regular(), Blocks::new());
    let picture = blocks.push(Box::new(Picture(7)));
    assert_eq!(actions(draw(&mut screen, &mut blocks, &[]).as_bytes()), ["a=T"]);
    blocks.remove(picture);
    push(&mut blocks, "text");
    assert_eq!(actions(draw(&mut screen, &mut blocks, &[]).as_bytes()), ["a=d"]);
}

#[test]
fn the_full_screen_shows_images_that_fit() {
    let theme = Theme::plain();
    let dock = lines(&["dock"]);
    let mut blocks = Blocks::new();
    let mut screen = FullScreen::new(Size::new(20, 6), Encoder::new(ColorDepth::True));
    screen.set_images(Some(ImageProtocol::Kitty));
    push(&mut blocks, "1\n2\n3\n4");
    blocks.push(Box::new(Picture(7)));
    push(&mut blocks, "5\n6\n7\n8\n9");
    let mut draw = |screen: &mut FullScreen, scroll: Scroll| {
        screen.scroll(scroll);
        let mut out = Vec::new();
        screen.draw(&mut blocks, &frame(&theme, &dock), &mut out);
        actions(&out)
    };
    assert_eq!(draw(&mut screen, Scroll::Bottom), [""; 0]);
    // One row after the other comes into view from above.
    assert_eq!(draw(&mut screen, Scroll::Lines(-2)), [""; 0]);
    assert_eq!(draw(&mut screen, Scroll::Lines(-1)), ["a=T"]);
    assert_eq!(draw(&mut screen, Scroll::Lines(-1)), ["a=p"]);
    assert_eq!(draw(&mut screen, Scroll::Lines(0)), [""; 0]);
    // It does not cover the dock.
    assert_eq!(draw(&mut screen, Scroll::Top), ["a=d"]);
}

#[test]
fn without_a_protocol_nothing_is_sent() {
    let theme = Theme::plain();
    let mut blocks = Blocks::new();
    blocks.push(Box::new(Picture(7)));
    let mut out = Vec::new();
    let mut screen = RegularScreen::new(Size::new(20, 6), Encoder::new(ColorDepth::True));
    screen.draw(&mut blocks, &frame(&theme, &[]), &mut out);
    let mut screen = FullScreen::new(Size::new(20, 6), Encoder::new(ColorDepth::True));
    screen.draw(&mut blocks, &frame(&theme, &[]), &mut out);
    assert!(!String::from_utf8_lossy(&out).contains("\x1b_G"));
}
