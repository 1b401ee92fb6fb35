//! Telling public addresses from those of this machine and its network, and from reserved ones.
//!
//! The owner of an allowed name can let it lead to this machine. So addresses are checked, too, in
//! every form that leads to the same host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true for a public address of the Internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => is_public_v6(six),
    }
}

/// Returns true for an address of the loopback network.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = match a {
        // "This network", reserved addresses, and the broadcast address.
        0 | 240..=255 => true,
        // Shared address space of providers.
        100 => (64..128).contains(&b),
        // Protocol assignments, and the former 6to4 relay.
        192 => (b, c) == (0, 0) || (b, c) == (88, 99),
        // Benchmarks.
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

fn is_public_v6(address: Ipv6Addr) -> bool {
    let four = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Forms of IPv4 addresses; the first includes `::` and `::1`.
        [0, 0, 0, 0, 0, 0 | 0xFFFF, high, low] => four(high, low),
        [0, 0, 0, 0, 0xFFFF, 0, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            four(high, low)
        }
        [0x2002, high, low, ..] => four(high, low),
        // Teredo, whose encoding depends on a server, and documentation.
        [0x2001, 0 | 0xDB8, ..] => false,
        // The only range that is assigned so far.
        [first, ..] => first & 0xE000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_and_private_addresses_are_not_public() {
        let public = [
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
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
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
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        assert!(is_loopback("::ffff:127.0.0.9".parse().unwrap()));
        assert!(!is_loopback("10.0.0.1".parse().unwrap()));
    }
}
