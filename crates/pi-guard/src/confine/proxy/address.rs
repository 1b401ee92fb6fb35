//! Which addresses are somebody else's on the Internet, and which are this machine, its
//! neighbours, or nobody.
//!
//! A name that was allowed says nothing about where it leads: whoever owns it can let it lead
//! here. So addresses are judged too, in every disguise that leads to the same place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether this is an ordinary address of the Internet.
pub(super) fn public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => public_four(four),
        IpAddr::V6(six) => public_six(six),
    }
}

/// Whether this is the machine talking to itself.
pub(super) fn loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn public_four(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = match a {
        // "This network", and what is reserved for later, with the broadcast.
        0 | 240..=255 => true,
        // Shared by the customers of a provider.
        100 => (64..128).contains(&b),
        // Of the protocols themselves, and the former way from IPv6.
        192 => (b, c) == (0, 0) || (b, c) == (88, 99),
        // For measurements.
        198 => b == 18 || b == 19,
        _ => false,
    };
    !(reserved
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn public_six(address: Ipv6Addr) -> bool {
    let four = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        public_four(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // An address of IPv4 in one of its disguises; the first includes `::` and `::1`.
        [0, 0, 0, 0, 0, 0 | 0xFFFF, high, low] => four(high, low),
        [0, 0, 0, 0, 0xFFFF, 0, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            four(high, low)
        }
        [0x2002, high, low, ..] => four(high, low),
        // Teredo, whose disguise depends on a server, and documentation.
        [0x2001, 0 | 0xDB8, ..] => false,
        // Only this part was given out so far.
        [first, ..] => first & 0xE000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_internet_is_public() {
        let public_ones = [
            "1.1.1.1",
            "93.184.216.34",
            "100.128.0.1",
            "172.32.0.1",
            "192.1.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ];
        for text in public_ones {
            assert!(public(text.parse().unwrap()), "{text}");
        }
        let others = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.0.3",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "100::1",
        ];
        for text in others {
            assert!(!public(text.parse().unwrap()), "{text}");
        }
        assert!(loopback("::ffff:127.0.0.9".parse().unwrap()));
        assert!(!loopback("10.0.0.1".parse().unwrap()));
    }
}
