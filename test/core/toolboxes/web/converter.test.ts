import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doNow, uncounted } from '../../../../src/core/base/work.ts';
import { splitPages } from '../../../../src/core/toolboxes/web/fetch.ts';
import { readHtml } from '../../../../src/core/toolboxes/web/page.ts';

const address = new URL('https://a.example/docs/page.html?x=1');
const readPage = (html: string) => doNow(readHtml(html, address, uncounted));
const read = (html: string) => readPage(html).text;

describe('a page as markdown', () => {
	test('keeps headings, paragraphs, emphasis and breaks', () => {
		const html =
			'<h1>One</h1><p>Some <b>bold </b>and <i>slanted</i>,<br>and <del>gone</del>.</p><h3>Three</h3>Loose text<hr>';
		expect(read(html)).toBe('# One\n\nSome **bold** and _slanted_,\nand ~~gone~~.\n\n### Three\n\nLoose text\n\n***');
	});

	test('keeps tables with captions, spans and pipes within cells', () => {
		const html = `<table><caption>Prices</caption><thead><tr><td>Item<td>Price|€<tbody>
			<tr><td rowspan=2>Tea<td>2 <tr><td>3<tr><td colspan=2>that is <code>a|b</code></table>`;
		expect(read(html)).toBe(
			'**Prices**\n\n| Item | Price\\|€ |\n| - | - |\n| Tea | 2 |\n| | 3 |\n| that is `a\\|b` | |',
		);
	});

	test('adds an empty header to a table without a header, and keeps blocks within cells', () => {
		const html = '<table><tr><td><p>a</p><p>b</p><td><ul><li>x<li>y</ul></table>';
		expect(read(html)).toBe('| | |\n| - | - |\n| a b | • x • y |');
	});

	test('turns a table that is used for layout into text, but keeps a table inside it', () => {
		const html = '<table><tr><td>Menu<td><h2>News</h2><table><tr><th>A<th>B<tr><td>1<td>2</table>End</table>';
		expect(read(html)).toBe('Menu\n\n## News\n\n| A | B |\n| - | - |\n| 1 | 2 |\n\nEnd');
	});

	test('keeps code with its language, its blanks and its lines', () => {
		const html = '<pre><code class="hl language-js">\nif (a &lt; b) {\n\tx();\n}\n</code></pre>';
		expect(read(html)).toBe('```js\nif (a < b) {\n\tx();\n}\n```');
		expect(read('<pre><div>one</div><div>  two</div></pre>')).toBe('```\none\n  two\n```');
		expect(read('<pre>a ``` b</pre>')).toBe('````\na ``` b\n````');
		expect(read('Call <code>f(`x`)</code> or <kbd>Esc</kbd>')).toBe('Call ``f(`x`)`` or `Esc`');
	});

	test('keeps nested lists, list numbers and quotations', () => {
		const html = `<ul><li>One<ul><li>Two<ol><li>deep<li>deeper</ol></ul><li>Three</ul><ol start=7><li>seven</ol>
			<blockquote>Said<p>twice</blockquote><dl><dt>Term<dd>Meaning</dl>`;
		expect(read(html)).toBe(
			'- One\n  - Two\n    1. deep\n    2. deeper\n- Three\n\n7. seven\n\n> Said\n>\n> twice\n\n**Term**\n\nMeaning',
		);
	});

	test('has absolute links, which are resolved against the base element or the page address', () => {
		expect(read('<a href="../up_x?a=1&amp;b=2#c">up</a> <a href="#here">here</a> <a href="//b.example">b</a>')).toBe(
			'[up](https://a.example/up_x?a=1&b=2#c) [here](https://a.example/docs/page.html?x=1#here) [b](https://b.example/)',
		);
		expect(read('<base href="https://c.example/d/"><a href=e>e</a><img src=i.png alt="A &quot;picture&quot;">')).toBe(
			'[e](https://c.example/d/e)![A "picture"](https://c.example/d/i.png)',
		);
		expect(read('<a href="https://w.example/A_(b)|c">w</a>')).toBe('[w](<https://w.example/A_(b)%7Cc>)');
	});

	test('has a link in each block if a link surrounds several blocks', () => {
		expect(read('<a href=x><h2>Card</h2><p>Text</p></a>after')).toBe(
			'## [Card](https://a.example/docs/x)\n\n[Text](https://a.example/docs/x)\n\nafter',
		);
	});

	test.each([
		'javascript:alert(1)',
		'data:text/html,x',
		'file:///etc/passwd',
		' java\nscript:x',
		'http://[',
		'x'.repeat(3_000),
	])('has no link for an address that is not a web address: %s', (href) => {
		expect(read(`<a href="${href}">text</a>`)).toBe('text');
	});

	test('has links to the pages of its frames', () => {
		expect(
			read('<frameset><frame src=a.html><frame src=b.html title="The  b"><noframes>no</noframes></frameset>'),
		).toBe(
			'[Frame: https://a.example/docs/a.html](https://a.example/docs/a.html)\n\n[Frame: The b](https://a.example/docs/b.html)',
		);
		expect(read('<p>before<iframe src="/f">inside</iframe>after')).toBe(
			'before\n\n[Frame: https://a.example/f](https://a.example/f)\n\nafter',
		);
	});

	test('decodes entities exactly once', () => {
		expect(read('&eacute;&amp;lt;&#x1F600;&#0;&notit; &copy 2 &bogus;')).toBe('é&lt;😀\ufffd¬it; © 2 &bogus;');
	});

	test('does not escape text', () => {
		expect(read('<p>snake_case a*b*c [x] 1. #no `tick`')).toBe('snake_case a*b*c [x] 1. #no `tick`');
	});

	test('leaves out scripts, styles, forms, images without a text, and hidden elements', () => {
		const html = `<script>s()</script><style>s{}</style><template>t</template><svg><title>s</title><text>s</text></svg>
			<form><input value=i><button>Go</button><select><option>o</select><textarea>t</textarea></form><img src=x>
			<p hidden>h</p><p aria-hidden=true>h</p><p style="color:red; display: none">h</p><h1>T<a class=headerlink href=#t>¶</a></h1>`;
		expect(read(html)).toBe('# T');
	});

	test('has only the marked main part, or everything except navigation and footers if no part is marked', () => {
		const words = 'word '.repeat(60).trim();
		expect(read(`<nav>Menu</nav><main><nav>In</nav>${words}</main><footer>Foot</footer>`)).toBe(`In\n\n${words}`);
		expect(read(`<div>Ads</div><article>${words}</article>`)).toBe(words);
		expect(read('<article>a</article><article>b</article>')).toBe('a\n\nb');
		expect(read(`<nav>Menu</nav><div role=navigation>Menu</div>${words}<aside>Side</aside><footer>Foot</footer>`)).toBe(
			words,
		);
		expect(read(`<main>Loading…</main><div>${words}${words}</div>`)).toContain('word');
		expect(read('<nav><a href=/a>Only</a></nav>')).toBe('[Only](https://a.example/a)');
	});

	test('takes its title from the first title of the document, as one line of at most 300 characters', () => {
		const { title } = readPage(`<svg><title>no</title></svg><title> A\n &amp; B </title><title>C</title>`);
		expect(title).toBe('A & B');
		expect(readPage(`<title>${'x'.repeat(5_000)}</title>`).title).toHaveLength(300);
		expect(readPage('<p>x')).toEqual({ text: 'x' });
	});

	test('can have 500 levels of elements, but a deeper page is refused', () => {
		expect(read(`${'<div>'.repeat(499)}deep`)).toBe('deep');
		expect(() => read('<div>'.repeat(501))).toThrow(
			/^url: the page nests more than 500 levels deep .* Read another page\.$/,
		);
	});

	test('has all entries and numbers of a long list or table that is written in pieces', () => {
		const items = Array.from({ length: 5_000 }, (_, n) => `item${n}`);
		const list = read(`<ol>${items.map((one) => `<li>${one}`).join('')}</ol>`);
		expect(list.match(/item\d+/g)).toEqual(items);
		expect(list).toContain('5000. item4999');
		const table = read(`<table>${items.map((one) => `<tr><td>${one}<td>x`).join('')}</table>`);
		expect(table.match(/item\d+/g)).toEqual(items);
	});
});

/** Names of tags. The tests put them in any order, as an attacker would. */
const names = [
	'p',
	'div',
	'b',
	'a',
	'i',
	'code',
	'pre',
	'ul',
	'ol',
	'li',
	'table',
	'tr',
	'td',
	'th',
	'caption',
	'h1',
	'h2',
];
const more = [
	'blockquote',
	'br',
	'hr',
	'img',
	'main',
	'nav',
	'article',
	'dl',
	'dt',
	'dd',
	'svg',
	'title',
	'iframe',
	'form',
	'x-y',
];
const name = fc.constantFrom(...names, ...more);
const attributes = fc.constantFrom(
	'',
	' href=x',
	' src=y alt=z',
	' colspan=9',
	' rowspan=99999999',
	' class=language-js',
	' hidden',
);
const piece = fc.oneof(
	fc.tuple(name, attributes).map(([tag, more]) => `<${tag}${more}>`),
	name.map((tag) => `</${tag}>`),
	fc.constantFrom(
		'text',
		' ',
		'\n',
		'|',
		'`',
		'&amp;',
		'&#x10FFFF;',
		'<!--',
		'-->',
		'<![CDATA[',
		']]>',
		'<',
		'*',
		'😀',
	),
	fc.string({ unit: 'grapheme' }),
);
const page = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

describe('any web page', () => {
	test('is read without a failure', () => {
		fc.assert(
			fc.property(page, (html) => typeof read(html) === 'string'),
			{ numRuns: 1_500 },
		);
	});

	test('keeps all words in order', () => {
		const word = fc.stringMatching(/^[a-z]{1,8}$/);
		fc.assert(
			fc.property(
				fc.array(fc.tuple(fc.constantFrom('p', 'b', 'li', 'td', 'h2', 'pre', 'div', 'a', 'blockquote'), word)),
				(pairs) => {
					const html = pairs.map(([tag, one]) => `<${tag}>${one}</${tag}> `).join('');
					expect(read(html).match(/[a-z]+/g) ?? []).toEqual(pairs.map(([, one]) => one));
				},
			),
		);
	});

	test('is split into parts that have at most the given length and join to the whole text', () => {
		fc.assert(
			fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.integer({ min: 2, max: 50 }), (text, length) => {
				const pages = splitPages(text, length);
				expect(pages.join('')).toBe(text);
				expect(pages.every((one) => one.length <= length && (one !== '' || text === ''))).toBe(true);
			}),
		);
	});
});
