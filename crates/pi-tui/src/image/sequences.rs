//! The image protocols of kitty and iTerm2.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Placement;

/// The size of one piece of an upload, in characters of base64.
const PIECE: usize = 4096;

/// Uploads an image and shows it at the cursor, which does not move. The terminal does not answer.
pub fn kitty_place(placement: &Placement, out: &mut Vec<u8>) {
    let Placement { id, columns, rows, .. } = placement;
    let keys = format!("a=T,f=100,q=2,C=1,c={columns},r={rows},i={id},p=1");
    upload(&placement.png, &keys, out);
}

/// Shows an image that was uploaded at the cursor, which does not move. The image is on the screen
/// once: it leaves the place where it was.
pub fn kitty_show(placement: &Placement, out: &mut Vec<u8>) {
    let Placement { id, columns, rows, .. } = placement;
    write(out, format_args!("\x1b_Ga=p,q=2,C=1,c={columns},r={rows},i={id},p=1\x1b\\"));
}

/// Removes an image from the screen; `forget` also from the memory of the terminal.
pub fn kitty_delete(id: u32, forget: bool, out: &mut Vec<u8>) {
    let what = if forget { 'I' } else { 'i' };
    write(out, format_args!("\x1b_Ga=d,d={what},i={id},q=2\x1b\\"));
}

/// Shows an image at the cursor. Older versions of iTerm2 move the cursor below the image, so a
/// caller positions it anew.
pub fn iterm2_show(placement: &Placement, out: &mut Vec<u8>) {
    let Placement { png, columns, rows, .. } = placement;
    let size = png.len();
    write(
        out,
        format_args!(
            "\x1b]1337;File=inline=1;size={size};width={columns};height={rows};\
             preserveAspectRatio=1;doNotMoveCursor=1:"
        ),
    );
    out.extend_from_slice(STANDARD.encode(png).as_bytes());
    out.push(0x07);
}

fn upload(png: &[u8], keys: &str, out: &mut Vec<u8>) {
    let data = STANDARD.encode(png);
    let mut rest = data.as_bytes();
    let mut keys = format!("{keys},");
    loop {
        let (now, later) = rest.split_at(PIECE.min(rest.len()));
        let more = u8::from(!later.is_empty());
        write(out, format_args!("\x1b_G{keys}m={more};"));
        out.extend_from_slice(now);
        out.extend_from_slice(b"\x1b\\");
        if later.is_empty() {
            return;
        }
        rest = later;
        "q=2,".clone_into(&mut keys);
    }
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing into memory does not fail.
    let _ = out.write_fmt(text);
}
