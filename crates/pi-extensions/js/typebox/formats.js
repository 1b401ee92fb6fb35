// The formats that a string schema can ask for. An unknown format accepts every string.

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?$/i;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

function isDate(text) {
	const match = DATE.exec(text);
	if (match === null) return false;
	const [year, month, day] = match.slice(1).map(Number);
	const date = new Date(Date.UTC(year, month - 1, day));
	return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isIpv6(text) {
	const [head, tail, ...more] = text.split("::");
	if (more.length > 0) return false;
	const groups = (part) => (part === undefined || part === "" ? [] : part.split(":"));
	const all = [...groups(head), ...groups(tail)];
	const last = all.at(-1);
	const length = all.length + (last !== undefined && IPV4.test(last) ? 1 : 0);
	const valid = all.every((group, at) => /^[0-9a-f]{1,4}$/i.test(group) || (at === all.length - 1 && IPV4.test(group)));
	return valid && (tail === undefined ? length === 8 : length < 8);
}

module.exports = {
	date: isDate,
	time: (text) => TIME.test(text),
	"date-time": (text) => {
		const [date, time] = text.split(/t|\s/i);
		return time !== undefined && isDate(date) && TIME.test(time);
	},
	email: (text) => /^[^\s@"]+@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i.test(text),
	hostname: (text) => text.length <= 253 && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(text),
	ipv4: (text) => IPV4.test(text),
	ipv6: isIpv6,
	uri: (text) => /^[a-z][a-z0-9+\-.]*:[^\s]+$/i.test(text) && !/[<>"{}|\\^`]/.test(text),
	url: (text) => /^(?:https?|ftp):\/\/[^\s/?#]+[^\s]*$/i.test(text),
	"uri-reference": (text) => !/[\s<>"{}|\\^`]/.test(text),
	uuid: (text) => /^(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text),
	regex: (text) => {
		try {
			new RegExp(text, "u");
			return true;
		} catch {
			return false;
		}
	},
	"json-pointer": (text) => /^(?:\/(?:[^~/]|~0|~1)*)*$/.test(text),
	duration: (text) => /^P(?!$)((\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?|(\d+W)?)$/.test(text),
};
