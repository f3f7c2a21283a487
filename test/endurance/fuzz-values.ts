import type { Random } from './random.ts';

export function pick<T>(random: Random, list: readonly T[]): T {
	const one = list[random(0, list.length - 1)];
	if (one === undefined) throw new Error('nothing to choose from');
	return one;
}

/** Returns true in `percent` of 100 cases. */
export function chance(random: Random, percent: number): boolean {
	return random(1, 100) <= percent;
}

/** Unexpected JSON values, as text: `JSON.stringify` would not write most of these texts. */
const hostileJson: readonly string[] = [
	...['null', 'true', 'false', '0', '-0', '-1', '1.5', '1e308', '1e400', '-1e400', '1e-400', '9007199254740993'],
	...['99999999999999999999999999', '0.1e', '01', '+1', '.5', 'NaN', 'Infinity', 'undefined', '""', '" "', '"0"'],
	...['[]', '[[]]', '[null]', '{}', '{"":""}', '{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{}}}'],
	...[
		'"\\ud800"',
		'"\\udc00\\ud800"',
		'"a\\u0000b"',
		'"\\u202e"',
		'"\\ufeff"',
		'"\\r\\nset-cookie: a=b"',
		'"\ud83d\ude00"',
	],
	...['"__proto__"', '"constructor"', '"toString"', '"hasOwnProperty"', '"../../etc/passwd"', '"%00"', '"\\\\"'],
	...['"https://127.1/"', '"https://a.example/"', '"data:,x"', '"file:///etc/passwd"', '"javascript:alert(1)"'],
	...['"data:image/png;base64,AAAA"', '"data:image/png;base64,*"', '"AAAA"', '"A==="', '"text/plain"', '"image/png"'],
	...[
		'"demo"',
		'"claude-sonnet-4-6"',
		'"gpt-5"',
		'"assistant"',
		'"support"',
		'"worker"',
		'"user"',
		'"system"',
		'"tool"',
	],
	...['"\'; DROP TABLE session; --"', '"<script>alert(1)</script>"', '"\\u2028"', '"1; 2"'],
	...[
		'[1,2,3,4,5]',
		'{"toString":null,"valueOf":null}',
		'{"then":1}',
		'{"length":-1}',
		'{"0":0,"length":1}',
		'{"toJSON":1}',
	],
];

/** Texts that often break programs. HTTP does not allow all of them. */
const hostileTexts: readonly string[] = [
	...['', ' ', '0', '-1', '1e9', '99999999999999999999', 'NaN', 'null', 'undefined', 'true', '[object Object]', '*'],
	...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '..', '.', '../..', '%2e%2e', '%', '%zz'],
	...['%00', '%0d%0a', '%c0%af', '%ff', '%u0041', '%ed%a0%80', '\\', ';', ':', '@', '#', '?', '&', '=', '+', '"', "'"],
	...['<script>', '{{7*7}}', "' OR 1=1 --", 'a'.repeat(300), 'é', 'Ã¤', '\x7f', '\x80\xff', '0'.repeat(64)],
	...['1.1', '1.1.0', '1.1.0.0.0', '1.0.0.0', '-1.-1', '1e5.1', '1.1.1e9', '999999999999999999.1', 'x.y.z'],
];

export function hostileText(random: Random): string {
	const text = pick(random, hostileTexts);
	if (chance(random, 5)) return text.repeat(random(2, 50));
	return chance(random, 10) ? text + pick(random, hostileTexts) : text;
}

/** Changes parts of a JSON value to unexpected values. Returns JSON text. */
export function mutatedJson(random: Random, value: unknown): string {
	if (chance(random, 12)) return hostileValue(random);
	if (Array.isArray(value)) {
		const items = value.flatMap((item) => {
			if (chance(random, 4)) return [];
			const text = mutatedJson(random, item);
			return chance(random, 4) ? Array<string>(random(2, 40)).fill(text) : [text];
		});
		return `[${items.join(',')}]`;
	}
	if (typeof value === 'object' && value !== null) {
		const fields = Object.entries(value).flatMap(([name, field]) => {
			if (chance(random, 6)) return [];
			const written = `${JSON.stringify(name)}:${mutatedJson(random, field)}`;
			// The same field twice: some parsers use the first value, and other parsers use the last value.
			return chance(random, 4) ? [written, `${JSON.stringify(name)}:${hostileValue(random)}`] : [written];
		});
		if (chance(random, 10)) fields.push(`${JSON.stringify(hostileText(random))}:${hostileValue(random)}`);
		return `{${fields.join(',')}}`;
	}
	return JSON.stringify(value) ?? 'null';
}

function hostileValue(random: Random): string {
	if (chance(random, 90)) return pick(random, hostileJson);
	const deep = pick(random, [50, 99, 100, 101, 500, 5_000, 100_000]);
	return pick(random, [
		() => `${'['.repeat(deep)}${']'.repeat(deep)}`,
		() => `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`,
		() => '['.repeat(deep),
		() => `"${'x'.repeat(random(1, 20) * 10_000)}"`,
		() => '9'.repeat(random(1, 10) * 1_000),
		() => `[${Array(random(100, 5_000)).fill('1').join(',')}]`,
		() => `{${Array.from({ length: random(100, 2_000) }, (_, n) => `"k${n}":${n}`).join(',')}}`,
		() => JSON.stringify(hostileText(random)),
	])();
}

/** Encodes a text, sometimes broken: invalid UTF-8, truncated, or with a byte order mark. */
export function spoiledBytes(random: Random, text: string): Uint8Array {
	const bytes = Buffer.from(text, 'utf8');
	if (chance(random, 85)) return bytes;
	const at = random(0, Math.max(0, bytes.length - 1));
	const stray = Buffer.from(
		pick(random, [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x80], [0x00], [0xe2, 0x82]]),
	);
	return pick(random, [
		() => Buffer.concat([bytes.subarray(0, at), stray, bytes.subarray(at)]),
		() => bytes.subarray(0, at),
		() => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
		() => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]),
		() => Buffer.concat([bytes, Buffer.from('\n{}')]),
		() => Buffer.alloc(pick(random, [1, 1_000, 70_000]), stray),
	])();
}
