//! URLs by the rules of the web.

#![allow(clippy::needless_pass_by_value)] // The engine hands over the arguments of a function.

use rquickjs::function::Opt;
use rquickjs::{Ctx, Function, Object};
use url::{Url, form_urlencoded, quirks};

use crate::host::Host;

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set(
        "parse",
        Function::new(ctx.clone(), |input: String, base: Opt<String>| {
            let base = match base.0 {
                Some(base) => Some(Url::parse(&base).ok()?),
                None => None,
            };
            let url = Url::options().base_url(base.as_ref()).parse(&input).ok()?;
            Some(parts(&url))
        })?,
    )?;
    object.set("set", Function::new(ctx.clone(), set)?)?;
    object.set(
        "encodeForm",
        Function::new(ctx.clone(), |text: String| {
            form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
        })?,
    )?;
    object.set(
        "decodeForm",
        Function::new(ctx.clone(), |text: String| {
            // A name without a value: neither `&` nor `=` occurs in the text.
            let mut pairs = form_urlencoded::parse(text.as_bytes());
            pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
        })?,
    )?;
    Ok(object)
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
fn set(href: String, part: String, value: String) -> Option<Vec<String>> {
    let mut url = Url::parse(&href).ok()?;
    let done = match part.as_str() {
        "href" => quirks::set_href(&mut url, &value).map_err(drop),
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            Ok(())
        }
        _ => Err(()),
    };
    done.ok().map(|()| parts(&url))
}
