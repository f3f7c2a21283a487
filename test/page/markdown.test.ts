/**
 * How the page draws Markdown: the result does not depend on the pieces of the stream, and the work is limited.
 */
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import type { JSHandle, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMarkdown, readLine } from '../../src/client/markdown.ts';
import { findComplete, notBegun } from '../../src/page/markdown/complete.ts';
import { type Browser, startBrowser } from './browser.ts';
import { loadModule } from './module.ts';

type Module = typeof import('../../src/page/markdown/markdown.ts');

let browser: Browser;
let page: Page;
let module: JSHandle<Module>;

beforeAll(async () => {
	browser = await startBrowser();
	page = await browser.openPage();
	await page.setContent('<!doctype html>');
	module = await loadModule<Module>(page, 'markdown/markdown');
});
afterAll(() => browser?.close());

/** Draws texts, each whole or in pieces of the given sizes, as HTML. */
function draw(sources: readonly { readonly text: string; readonly sizes?: readonly number[] }[]): Promise<string[]> {
	return module.evaluate(
		({ createMarkdown }, sources) =>
			sources.map(({ text, sizes = [text.length] }) => {
				const root = document.createElement('div');
				const markdown = createMarkdown(root);
				for (let from = 0, step = 0; from < text.length; step += 1) {
					const size = Math.max(1, sizes[step % sizes.length] ?? 1);
					markdown.write(text.slice(from, from + size));
					markdown.flush();
					from += size;
				}
				markdown.end();
				return root.innerHTML;
			}),
		sources,
	);
}
/** Draws a text as HTML without directions. */
const drawOne = async (text: string) => ((await draw([{ text }]))[0] ?? '').replaceAll(/ dir="\w+"/g, '');

test('each block has the direction of its first letters, and code is written from the left', async () => {
	const texts = [
		['مرحبا بالعالم', 'p', 'rtl'],
		['שלום **world**', 'p', 'rtl'],
		['Hello مرحبا', 'p', 'ltr'],
		['- مرحبا\n- hello', 'ul', 'rtl'],
		['- [x] مرحبا', 'ul', 'rtl'],
		['> שלום\n>\n> hello', 'blockquote', 'rtl'],
		['# عنوان', 'h3', 'rtl'],
		['| اسم | b |\n|---|---|\n| 1 | 2 |', 'table', 'rtl'],
		['مرحبا `const a = 1`', 'code', 'ltr'],
		['```js\n// مرحبا\n```', 'pre', 'ltr'],
	] as const;
	const styles = await readFile(new URL('../../src/page/markdown/markdown.css', import.meta.url), 'utf8');
	const shown = await module.evaluate(
		({ createMarkdown }, { texts, styles }) => {
			const style = document.head.appendChild(document.createElement('style'));
			style.textContent = styles;
			return texts.map(([text, tag]) => {
				const root = document.body.appendChild(document.createElement('div'));
				root.className = 'prose';
				const markdown = createMarkdown(root);
				for (const piece of text.match(/[\s\S]{1,3}/g) ?? []) {
					markdown.write(piece);
					markdown.flush();
				}
				markdown.end();
				const found = root.querySelector(tag);
				const { direction } = found === null ? { direction: 'missing' } : getComputedStyle(found);
				root.remove();
				return [text, tag, direction];
			});
		},
		{ texts, styles },
	);
	expect(shown).toEqual(texts);
});

test('draws the blocks and the inline marks of Markdown', async () => {
	expect(await drawOne('| a | b |\n|:-:|--:|\n| 1 | `2` |')).toBe(
		'<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead><tr><th class="center">a</th>' +
			'<th class="right">b</th></tr></thead><tbody><tr><td class="center">1</td><td class="right"><code>2</code></td></tr></tbody></table></div>',
	);
	expect(await drawOne('> Said *so*\n> > and so')).toBe(
		'<blockquote><p>Said <em>so</em></p><blockquote><p>and so</p></blockquote></blockquote>',
	);
	expect(await drawOne('- [x] done\n- [ ] open\n- plain')).toBe(
		'<ul><li class="todo" data-done="true"><span class="visually-hidden">Done: </span>done</li>' +
			'<li class="todo" data-done="false"><span class="visually-hidden">Open: </span>open</li><li>plain</li></ul>',
	);
	expect(await drawOne('~~gone~~ and ~this~\n\n---\n\n# A\n## B\n### C')).toBe(
		'<p><del>gone</del> and ~this~</p><hr><h3>A</h3><h4>B</h4><h5>C</h5>',
	);
	expect(await drawOne('1. one\n   - inner\n2. two')).toBe('<ol><li>one<ul><li>inner</li></ul></li><li>two</li></ol>');
	expect(await drawOne('- one\n\n  more\n- two')).toBe('<ul><li>one<p>more</p></li><li>two</li></ul>');
	expect(await drawOne('3. three\n4) four')).toBe('<ol start="3"><li>three</li></ol><ol start="4"><li>four</li></ol>');
	expect(await drawOne('Some **bold**, *italic*, `code` and 2*3*4.\r\nMore.')).toBe(
		'<p>Some <strong>bold</strong>, <em>italic</em>, <code>code</code> and 2*3*4.\nMore.</p>',
	);
	expect(await drawOne('```js\nconst a = `b`;\n\n# no title\n```\nlast')).toContain(
		'<code data-language="js">const a = `b`;\n\n# no title</code></pre>',
	);
});

test('marks bold and italic words between letters, also in scripts without spaces', async () => {
	for (const [text, shown] of [
		['这是**粗体**文字。', '这是<strong>粗体</strong>文字。'],
		['**注意：**请先备份。', '<strong>注意：</strong>请先备份。'],
		['他说**“你好”**然后走了。', '他说<strong>“你好”</strong>然后走了。'],
		['これは**太字**と*斜体*です。', 'これは<strong>太字</strong>と<em>斜体</em>です。'],
		['이것은 **굵은**글씨', '이것은 <strong>굵은</strong>글씨'],
		['นี่คือ**ตัวหนา**ครับ', 'นี่คือ<strong>ตัวหนา</strong>ครับ'],
		['un**believ**able', 'un<strong>believ</strong>able'],
		['2*3*4 and a*b*c', '2*3*4 and a*b*c'],
		['**粗体 *斜体* 粗体**', '<strong>粗体 <em>斜体</em> 粗体</strong>'],
	])
		expect(await drawOne(String(text)), text).toBe(`<p>${shown}</p>`);
});

test('draws formulas, and does not mistake prices for formulas', async () => {
	const formulas = [
		['$a_b*c*$', 'inline'],
		['$$x_1 = *y*$$', 'block'],
		['\\(a_b\\)', 'inline'],
		['\\[ x * y * z \\]', 'block'],
	];
	for (const [formula = '', display] of formulas) {
		const shown = await drawFormulas(`So ${formula} holds.`);
		expect(shown, formula).toMatch(/^<p>So <span class="formula"[^>]*><math.*<\/math><\/span> holds\.<\/p>$/);
		expect(shown.includes('display="block"'), formula).toBe(display === 'block');
	}
	const lines = '$$\n\\begin{aligned}\nx &= 1 \\\\\n+ y &= 2\n\\end{aligned}\n$$\nAfter.';
	expect(await drawFormulas(lines)).toMatch(/^<div class="formula"[^>]*><math.*<\/math><\/div><p>After\.<\/p>$/s);
	expect(await drawOne('It costs $5, not $6 or 2*3*4.')).toBe('<p>It costs $5, not $6 or 2*3*4.</p>');
});

test('shows a formula that is no LaTeX as it was written', async () => {
	for (const formula of ['$\\frac{1$', '$$\n\\unknown{x}\n$$', '$\\includegraphics{https://a.example/a.png}$'])
		expect(await drawFormulas(`${formula}\n\n$x$`)).toContain(`>${formula}</`);
	expect(await drawFormulas('$\\href{javascript:alert(1)}{x}$\n\n$x$')).not.toMatch(/href=/);
});

/** Draws a text with formulas, and waits until the last formula is drawn. */
async function drawFormulas(text: string): Promise<string> {
	const shown = await module.evaluate(async ({ createMarkdown }, text) => {
		const root = document.createElement('div');
		const markdown = createMarkdown(root);
		markdown.write(text);
		markdown.end();
		const isDrawn = () => [...root.querySelectorAll('.formula')].at(-1)?.querySelector('math') !== null;
		while (!isDrawn()) await new Promise(requestAnimationFrame);
		return root.innerHTML;
	}, text);
	return shown.replaceAll(/ dir="\w+"/g, '');
}

test('leads from the mark of a footnote to its note and back', async () => {
	const focused = await module.evaluate(({ createMarkdown }) => {
		const root = document.body.appendChild(document.createElement('div'));
		root.className = 'prose';
		const markdown = createMarkdown(root);
		markdown.write('One[^1] and two[^2].\n\n[^1]: The **first**.\n[^2]: The second.');
		markdown.end();
		const names: unknown[] = [];
		for (const name of ['Footnote 2', 'Back to the mark of footnote 2']) {
			root.querySelector<HTMLElement>(`[aria-label="${name}"]`)?.click();
			names.push(document.activeElement?.ariaLabel);
		}
		const notes = [...root.querySelectorAll('.footnote')].map(({ textContent }) => textContent);
		root.remove();
		return { names, notes };
	});
	expect(focused).toEqual({
		names: ['Back to the mark of footnote 2', 'Footnote 2'],
		notes: ['1The first.', '2The second.'],
	});
	expect(await drawOne('[^a-z] and `[^1]`')).toBe('<p>[^a-z] and <code>[^1]</code></p>');
});

test('opens a Mermaid diagram on mermaid.live, where only the browser reads it', async () => {
	const address = await module.evaluate(({ createMarkdown }) => {
		const root = document.createElement('div');
		const markdown = createMarkdown(root);
		markdown.write('```mermaid\ngraph TD; A-->é\n```');
		markdown.end();
		let opened: unknown[] = [];
		window.open = (...given) => {
			opened = given;
			return null;
		};
		root.querySelector<HTMLElement>('.open-diagram')?.click();
		return opened;
	});
	expect(address.slice(1)).toEqual(['_blank', 'noopener,noreferrer']);
	const [place, diagram = ''] = String(address[0]).split('#base64:');
	expect(place).toBe('https://mermaid.live/edit');
	expect(JSON.parse(Buffer.from(diagram, 'base64').toString())).toMatchObject({ code: 'graph TD; A-->é' });
});

test('shows an image whose bytes are in the text, in a separate paragraph', async () => {
	const bytes = 'A'.repeat(50_000);
	const text = `![A "chart"](data:image/png;base64,${bytes})`;
	const image = `<p><img alt="A &quot;chart&quot;" src="data:image/png;base64,${bytes}"></p>`;
	expect(await drawOne(text)).toBe(image);
	const [cut] = await draw([{ text: `${text}\n\nAfter.`, sizes: [700] }]);
	expect(cut?.replaceAll(/ dir="\w+"/g, '')).toContain(image);
	expect(await drawOne('![a](data:image/svg+xml;base64,AAAA)')).not.toContain('<img');
});

test('shows the characters that HTML references stand for, as text', async () => {
	expect(await drawOne('a&nbsp;b &lt;b&gt; &amp;amp; &#8212; &nothing; `&amp;`')).toBe(
		'<p>a&nbsp;b &lt;b&gt; &amp;amp; — &amp;nothing; <code>&amp;amp;</code></p>',
	);
	expect(await drawOne('[a](https://a.example/?b=1&amp;c=2)')).toContain('href="https://a.example/?b=1&amp;c=2"');
});

test('a block does not depend on link definitions of other blocks', async () => {
	expect(await drawOne('[a]\n\n[a]: https://a.example')).toMatch(/^<p>\[a\]<\/p><p>\[a\]: <a /);
});

test('shows images and HTML as text', async () => {
	const text = '![a](https://example.com/a.png) <b>x</b>';
	expect(await drawOne(text)).toBe('<p>![a](https://example.com/a.png) &lt;b&gt;x&lt;/b&gt;</p>');
	expect(await drawOne('<div>\n<b>x</b>\n</div>')).toBe('<p>&lt;div&gt;\n&lt;b&gt;x&lt;/b&gt;\n&lt;/div&gt;</p>');
});

test('draws any text in the same way, no matter how the stream is split', async () => {
	const lines = [
		...['# Title\r', 'Some **bold** and `code`.', '- one', '  - two', '  more', '1. first', '2) second', '', '', '***'],
		...[
			'| a | b |',
			'|---|---|',
			'| 1 | 2 |',
			'> quote',
			'lazy',
			'```js',
			'const a = 1;',
			'```',
			'~~~',
			'    indented',
		],
		...[
			'- [x] done',
			'* * *',
			'a',
			'---',
			'===',
			'<div>',
			'</div>',
			'<script>',
			'</script>',
			'<!-- x',
			'-->',
			'[a]: b',
		],
		...[
			'https://example.com/a',
			'$x$',
			'$$',
			'\\[',
			'\\]',
			'[^1]',
			'[^1]: a note',
			'a&amp;b',
			'a  ',
			'\\',
			'+',
			'-',
			'1.',
			'#',
			'>',
			'`',
			'**',
			'~~a~~',
			'[x](https://a.example)',
		],
	];
	const text = fc.array(fc.constantFrom(...lines), { minLength: 1, maxLength: 14 }).map((some) => some.join('\n'));
	const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
	const cases = fc.sample(fc.record({ text, sizes }), { numRuns: 600, seed: 7 });
	expect((await findDiffering(cases)).slice(0, 2)).toEqual([]);
});

/** Draws texts in pieces and whole. Returns the texts whose drawings differ. */
async function findDiffering(cases: readonly { readonly text: string; readonly sizes: readonly number[] }[]) {
	const cut = await draw(cases);
	const whole = await draw(cases.map(({ text }) => ({ text })));
	return cases.filter((_, at) => cut[at] !== whole[at]);
}

test('draws a long list, table or paragraph in the same way, no matter how the stream is split', async () => {
	const items = [
		'- one',
		'- two **b**',
		'- [x] done',
		'1. first',
		'7. x',
		'2) a',
		'  - in',
		'  more',
		'-',
		'1.',
		'- > q',
	];
	const rows = ['| 1 | 2 |', '| a | `b` | c |', 'x | y', '|', 'plain', '| a | b |\n|---|---|'];
	const words = [
		'Plain words go on',
		'some **bold** and',
		'`code`.',
		'So',
		'*',
		'[a](https://a.example)',
		'$5',
		'\n',
		'`',
	];
	const odd = ['', '', '# T', 'words', '---', '```', '> quote', '    code', '<div>', '* * *', '- - -', '==='];
	const lines = (some: readonly string[], length: number, others: readonly string[]) =>
		fc
			.array(
				fc.oneof(
					{ weight: length, arbitrary: fc.constantFrom(...some) },
					{ weight: 1, arbitrary: fc.constantFrom(...others) },
				),
				{ minLength: length, maxLength: length * 3 },
			)
			.map((all) => all.join('\n'));
	const block = fc.oneof(
		lines(items.slice(0, 2), 110, odd),
		lines(items.slice(0, 3), 60, items),
		lines(['1. first', '7. x'], 60, ['', '  more']),
		lines(rows, 110, odd).map((text) => `| a | b |\n|---|---|\n${text}`),
		fc.array(fc.constantFrom(...words), { minLength: 200, maxLength: 700 }).map((all) => all.join(' ')),
	);
	const text = fc.array(block, { minLength: 1, maxLength: 3 }).map((blocks) => blocks.join('\n'));
	const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 });
	const cases = fc.sample(fc.record({ text, sizes }), { numRuns: 150, seed: 7 });
	expect((await findDiffering(cases)).slice(0, 2)).toEqual([]);
});

test('draws each item and each row as soon as its line is complete, in a block of any length', async () => {
	const kinds = { li: ['', '- an item with **bold** words\n'], 'tbody > tr': ['| a |\n|---|\n', '| a row |\n'] };
	for (const [tag, [head = '', piece = '']] of Object.entries(kinds)) {
		const missing = await module.evaluate(
			({ createMarkdown }, { tag, head, piece }) => {
				const root = document.createElement('div');
				const markdown = createMarkdown(root);
				markdown.write(head);
				let most = 0;
				for (let at = 1; at <= 2_000; at += 1) {
					markdown.write(piece);
					markdown.flush();
					if (at % 7 > 0) continue;
					most = Math.max(most, at - root.querySelectorAll(tag).length);
				}
				return most;
			},
			{ tag, head, piece },
		);
		expect(missing, tag).toBe(0);
	}
});

test('appends new words of a long paragraph or of code to the current line', async () => {
	for (const [head, piece] of [
		['', 'words that go on, and '],
		['```js\n', 'const a = 1;\nconst '],
	] as const) {
		const lines = await module.evaluate(
			({ createMarkdown }, { head, piece }) => {
				const root = document.createElement('div');
				const markdown = createMarkdown(root);
				markdown.write(head);
				const lines = { parts: 0, broken: 0 };
				for (let at = 0; at < 1_000; at += 1) {
					markdown.write(piece);
					markdown.flush();
					const last = root.querySelector('p, code')?.lastChild;
					if (last instanceof Element) lines.parts += 1;
					if (last?.previousSibling instanceof Element && last instanceof Text) lines.broken += 1;
				}
				return lines;
			},
			{ head, piece },
		);
		expect(lines.parts, head).toBeGreaterThan(500);
		expect(lines.broken, head).toBe(0);
	}
});

test('does not recreate the finished parts of a long block', async () => {
	const count = 3_000;
	const kinds = {
		li: { head: '', piece: '- an item with **bold** words\n', end: '\n- with a gap\n' },
		ol: { head: '', piece: '1. an item\n', end: '\n1. with a gap\n' },
		td: { head: '| a | b |\n|---|---|\n', piece: '| a | **b** |\n', end: '\nThe end.' },
		'span.part': { head: '```js\n', piece: 'const one = call(1);\n', end: '```\n' },
		strong: { head: '', piece: 'Words that are **bold** go on. ', end: '\n\nThe end.' },
	};
	for (const [tag, given] of Object.entries(kinds)) {
		const shown = await module.evaluate(
			({ createMarkdown }, { tag, head, piece, end, count }) => {
				const root = document.createElement('div');
				const markdown = createMarkdown(root);
				const write = (text: string) => {
					markdown.write(text);
					markdown.flush();
				};
				write(head);
				for (let at = 0; at < 400; at += 1) write(piece);
				const first = root.querySelector(tag);
				for (let at = 400; at < count; at += 1) write(piece);
				write(end);
				markdown.end();
				return { isSame: first === root.querySelector(tag), count: root.querySelectorAll(tag).length };
			},
			{ ...given, tag, count },
		);
		expect(shown.isSame, tag).toBe(true);
		expect(shown.count, tag).toBe({ li: count + 1, td: count * 2, ol: 121, strong: count, 'span.part': 31 }[tag]);
	}
});

test('repeats the header of a long table in each part, and continues the numbers of a long list', async () => {
	const table = await drawOne(`| a |\n|---|\n${'| b |\n'.repeat(250)}`);
	expect(table.match(/<th>a<\/th>/g)).toHaveLength(3);
	expect(table.match(/aria-label="[^"]*"/g)).toEqual(
		['Table', 'Table, from row 101', 'Table, from row 201'].map((label) => `aria-label="${label}"`),
	);
	const text = `7. a\n${'1. b\n'.repeat(120)}`;
	for (const list of await draw([{ text }, { text, sizes: [9] }]))
		expect(list.match(/start="\d+"/g)).toEqual([7, 32, 57, 82, 107].map((start) => `start="${start}"`));
});

test('formats a long paragraph to its end', async () => {
	const shown = await drawOne('Words that are **bold** go on. '.repeat(3_000));
	expect(shown.match(/<strong>bold<\/strong>/g)).toHaveLength(3_000);
	expect(shown).not.toContain('*');
});

test('lays out a very long text without empty lines in pieces, until it is drawn as Markdown', async () => {
	const text = `A paragraph:\n\n${'Words that are **bold** 字 go on. '.repeat(6_000)}\n\nThe end.`;
	const { parts, shown } = await module.evaluate(({ createMarkdown }, text) => {
		const root = document.createElement('div');
		const markdown = createMarkdown(root);
		markdown.write(text);
		markdown.end();
		const parts = [...root.querySelectorAll('.waiting > .part')].map((part) => part.textContent);
		return { parts, shown: root.textContent };
	}, text);
	expect(shown).toBe(text);
	expect(parts.length).toBeGreaterThan(10);
	expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(10_100);
});

test('parses only a few characters again when a list or a table grows', () => {
	const kinds = { list: ['', '- an item with **bold** words\n'], table: ['| a |\n|---|\n', '| a row with words |\n'] };
	for (const [kind, [head = '', piece = '']] of Object.entries(kinds)) {
		let text = head;
		let begun = notBegun;
		let longest = 0;
		for (let at = 0; at < 5_000; at += 1) {
			text += piece;
			const found = findComplete(text, openMarkdown(text).blocks, begun);
			longest = Math.max(longest, text.length);
			if (found !== undefined) ({ rest: text, begun } = found);
		}
		expect(longest, kind).toBeLessThan(4_000);
		expect(begun.count, kind).toBeGreaterThan(4_800);
	}
});

test('draws a long streamed table completely', async () => {
	const row = (n: number) => `| ${n} | word${n} **b${n}** |\n`;
	const text = `| a | b |\n|---|---|\n${Array.from({ length: 900 }, (_, n) => row(n)).join('')}\nAfter.`;
	const [cut, whole] = await draw([{ text, sizes: [40] }, { text }]);
	expect(cut).toBe(whole);
	expect(cut?.match(/<td>/g)).toHaveLength(1_800);
});

test('shows code with its language, a copy button and colours', async () => {
	const shown = await module.evaluate(async ({ createMarkdown }) => {
		const root = document.createElement('div');
		document.body.append(root);
		const markdown = createMarkdown(root);
		markdown.write('```ts\nconst a: string = "b";\n```\n\n```nothing\nplain <b>\n```\n');
		markdown.end();
		while (root.querySelector('.hljs-keyword') === null) await new Promise(requestAnimationFrame);
		let copied = '';
		Object.defineProperty(navigator, 'clipboard', {
			value: {
				writeText: async (text: string) => {
					copied = text;
				},
			},
		});
		root.querySelector<HTMLButtonElement>('.copy')?.click();
		await new Promise(requestAnimationFrame);
		const label = root.querySelector<HTMLElement>('.copy')?.dataset.label;
		return {
			...{ copied, label, language: root.querySelector<HTMLElement>('.code-head')?.dataset.label },
			codes: [...root.querySelectorAll('code')].map(({ innerHTML }) => innerHTML),
		};
	});
	expect(shown).toEqual({
		copied: 'const a: string = "b";',
		label: 'Copied',
		language: 'ts',
		codes: [
			'<span class="hljs-keyword">const</span> <span class="hljs-attr">a</span>: <span class="hljs-built_in">string</span> = <span class="hljs-string">"b"</span>;',
			'plain &lt;b&gt;',
		],
	});
});

/** Parses a text with its inline marks. Returns the source of the parsed blocks. */
function readAll(text: string): string {
	const { blocks, getLine } = openMarkdown(text);
	for (const block of blocks) if (block.type === 'paragraph' || block.type === 'heading') readLine(getLine(block));
	return blocks.map(({ raw }) => raw).join('');
}

test('parses a megabyte of marks or thousands of nested quotes in a short time', () => {
	const marks = ['[', '*a ', '_a ', '`a ', '![', '<a ', '$a ', '~a~ ~', '~~a', '\\(', '[a](', 'a@', 'https://a', '| '];
	for (const mark of marks) {
		const text = mark.repeat(1_000_000 / mark.length);
		const begin = process.cpuUsage();
		expect(readAll(text)).toBe(text);
		const { user } = process.cpuUsage(begin);
		expect(user / 1_000, mark).toBeLessThan(2_000);
	}
	const quotes = `${'> '.repeat(5_000)}a`;
	expect(readAll(quotes)).toBe(quotes);
});
