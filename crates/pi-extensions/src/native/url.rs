//! URLs by the rules of the web.

use url::{Url, form_urlencoded, quirks};

use crate::host::Natives;

pub(super) const FUNCTIONS: Natives = &[
    ("parse", |call| {
        let (input, base) = (call.text(0)?, call.optional_text(1)?);
        call.reply(parse(&input, base.as_deref()).as_ref().map(parts))
    }),
    ("set", |call| call.reply(set(&call.text(0)?, &call.text(1)?, &call.text(2)?))),
    ("encodeForm", |call| {
        call.reply(form_urlencoded::byte_serialize(call.text(0)?.as_bytes()).collect::<String>())
    }),
    ("decodeForm", |call| {
        // A name without a value: neither `&` nor `=` occurs in the text.
        let text = call.text(0)?;
        let pair = form_urlencoded::parse(text.as_bytes()).next();
        call.reply(pair.map(|(name, _)| name.into_owned()).unwrap_or_default())
    }),
];

/// Parses a URL that may be relative to a base.
fn parse(input: &str, base: Option<&str>) -> Option<Url> {
    let base = match base {
        Some(base) => Some(Url::parse(base).ok()?),
        None => None,
    };
    Url::options().base_url(base.as_ref()).parse(input).ok()
}

/// Returns the parts of a URL in the order of `js/web/url.js`.
fn parts(url: &Url) -> Vec<String> {
    let owned = str::to_owned;
    vec![
        owned(quirks::href(url)),
        quirks::origin(url),
        owned(quirks::protocol(url)),
        owned(quirks::username(url)),
        owned(quirks::password(url)),
        owned(quirks::host(url)),
        owned(quirks::hostname(url)),
        owned(quirks::port(url)),
        owned(quirks::pathname(url)),
        owned(quirks::search(url)),
        owned(quirks::hash(url)),
    ]
}

/// Changes one part of a URL. `None` if the value is refused.
fn set(href: &str, part: &str, value: &str) -> Option<Vec<String>> {
    let mut url = Url::parse(href).ok()?;
    let done = match part {
        "href" => quirks::set_href(&mut url, value).map_err(drop),
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Err(()),
    };
    done.ok().map(|()| parts(&url))
}
