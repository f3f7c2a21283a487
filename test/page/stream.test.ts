/** The work of the page for each piece of a streamed answer. The tests count the work, because times vary. */
import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunEvent } from '../../src/client/index.ts';
import { takeSlice } from '../../src/page/chat/player.ts';
import { type Browser, startBrowser } from './browser.ts';
import { loadModule } from './module.ts';

let browser: Browser;
let page: Page;

beforeAll(async () => {
	browser = await startBrowser();
	page = await browser.openPage();
	await page.goto('about:blank');
});
afterAll(() => browser?.close());

const texts = (events: readonly RunEvent[]) => events.flatMap((event) => (event.type === 'text' ? [event.text] : []));

test('draws a limited number of characters and events per frame, and loses none in a burst', () => {
	const long = '😀'.repeat(5_000);
	const queue: RunEvent[] = [
		...Array.from({ length: 5_000 }, (_, at): RunEvent => ({ type: 'text', text: `${at} ` })),
		{ type: 'text', text: long },
		...Array.from({ length: 1_000 }, (_, at): RunEvent => ({ type: 'note', id: 'a', label: `${at}` })),
	];
	const slices: RunEvent[][] = [];
	const all = [...queue];
	while (queue.length > 0) slices.push(takeSlice(queue));
	expect(Math.max(...slices.map((slice) => slice.length))).toBeLessThanOrEqual(400);
	expect(Math.max(...slices.map((slice) => texts(slice).join('').length))).toBeLessThanOrEqual(2_001);
	expect(texts(slices.flat()).join('')).toBe(texts(all).join(''));
	for (const text of texts(slices.flat())) expect(text.isWellFormed()).toBe(true);
	expect(slices.flat().filter(({ type }) => type === 'note')).toEqual(all.filter(({ type }) => type === 'note'));
});

test('draws a burst of ten thousand events over many frames, complete and in order', async () => {
	const module = await loadModule<typeof import('../../src/page/chat/player.ts')>(page, 'chat/player');
	const views = await loadModule<typeof import('../../src/page/chat/run-view.ts')>(page, 'chat/run-view');
	await page.evaluate((loaded) => Reflect.set(window, 'views', loaded), views);
	const { most, frames, text } = await module.evaluate(async ({ createPlayer }) => {
		const { createRunView }: typeof import('../../src/page/chat/run-view.ts') = Reflect.get(window, 'views');
		const root = document.createElement('div');
		const tail = { keep() {}, toEnd() {}, announce() {} };
		const transcript = { addRun: () => createRunView(root), tail };
		const { signal } = new AbortController();
		const player = createPlayer(transcript, { signal, onShown() {} });
		for (let at = 0; at < 10_000; at += 1)
			player.push({ type: 'text', text: `word${at}${at % 10 === 9 ? '\n\n' : ' '}` });
		const lengths: number[] = [];
		let isOver = false;
		const ended = player.end().then(() => {
			isOver = true;
		});
		while (!isOver) {
			await new Promise(requestAnimationFrame);
			lengths.push(root.textContent.length);
		}
		await ended;
		const steps = lengths.map((length, at) => length - (lengths[at - 1] ?? 0));
		return { most: Math.max(...steps), frames: lengths.length, text: root.textContent };
	});
	expect(most).toBeLessThanOrEqual(2_000);
	expect(frames).toBeGreaterThan(40);
	expect(text.match(/word\d+/g)).toEqual(Array.from({ length: 10_000 }, (_, at) => `word${at}`));
});

test('draws long texts of a history over many frames, the newest first, and skips removed elements', async () => {
	const module = await loadModule<typeof import('../../src/page/markdown/markdown.ts')>(page, 'markdown/markdown');
	const { steps, texts, whole, left, seen } = await module.evaluate(async ({ createDrawing, createMarkdown }) => {
		const drawing = createDrawing();
		const roots = ['older', 'newer', 'left'].map((word) => {
			const root = document.body.appendChild(document.createElement('div'));
			const { write, end } = createMarkdown(root, { draw: drawing.draw });
			write(`- ${word} words\n`.repeat(5_000));
			end();
			return root;
		});
		const [older, newer, left] = roots;
		left?.remove();
		const steps: number[][] = [];
		const seen: number[] = [];
		let isOver = false;
		const all = drawing
			.drawAll(() => seen.push(document.body.querySelectorAll('li').length))
			.then(() => {
				isOver = true;
			});
		while (!isOver) {
			steps.push([older, newer].map((root) => root?.querySelectorAll('li').length ?? 0));
			await new Promise(requestAnimationFrame);
		}
		await all;
		const atOnce = document.createElement('div');
		const { write, end } = createMarkdown(atOnce);
		write('- older words\n'.repeat(5_000));
		end();
		return {
			steps,
			texts: roots.map((root) => root.innerHTML),
			whole: atOnce.innerHTML,
			left: left?.textContent,
			seen,
		};
	});
	expect(texts[0] === whole).toBe(true);
	expect(texts[1] === whole.replaceAll('older', 'newer')).toBe(true);
	expect(left).toBe('');
	// A callback after each frame keeps the end in view.
	expect(seen.length).toBeGreaterThan(5);
	expect(seen.at(-1)).toBe(10_000);
	for (const [older = 0, newer = 0] of steps) if (newer < 5_000) expect(older).toBe(0);
});

test('draws the parts of a long text when they are in view, and shows the others as they were written', async () => {
	const module = await loadModule<typeof import('../../src/page/markdown/markdown.ts')>(page, 'markdown/markdown');
	const block = (at: number) =>
		`## Part ${at}\n\nSome **words**.\n\n\`\`\`js\nconst a = ${at};\n\nconst b = a;\n\`\`\`\n\n`;
	const text = Array.from({ length: 2_000 }, (_, at) => block(at)).join('');
	await page.addStyleTag({ path: resolve(import.meta.dirname, '../../src/page/markdown/markdown.css') });
	const [first, last] = await module.evaluate(async ({ createDrawing, createMarkdown }, text) => {
		const root = document.createElement('div');
		document.body.replaceChildren(root);
		const drawing = createDrawing();
		const { write, end } = createMarkdown(root, { draw: drawing.draw });
		write(text);
		end();
		const isDrawn = (at: number) => root.children[at]?.querySelector('h4') != null;
		const look = () => {
			const drawn = [...root.children].filter((_, at) => isDrawn(at));
			return {
				...{
					parts: root.childElementCount,
					drawn: drawn.length,
					isFirst: isDrawn(0),
					isLast: isDrawn(root.childElementCount - 1),
				},
				html: drawn.map((part) => part.innerHTML).join(''),
				words: root.textContent.match(/Part \d+/g)?.length,
			};
		};
		const shows = async (at: number) => {
			while (!isDrawn(at) || look().words !== 2_000) await new Promise(requestAnimationFrame);
		};
		void drawing.drawAll(() => {});
		await shows(0);
		const first = look();
		root.lastElementChild?.scrollIntoView({ block: 'end' });
		await shows(root.childElementCount - 1);
		return [first, look()];
	}, text);
	expect(first).toMatchObject({ isFirst: true, isLast: false, words: 2_000 });
	expect(first?.parts).toBeGreaterThan(20);
	expect(first?.drawn).toBeLessThan(10);
	expect(last).toMatchObject({ isLast: true, words: 2_000 });
	// No part begins within a block of code.
	expect(last?.html).not.toContain('```');
});

const kinds = {
	paragraphs: ['Some **bold** text ', 'with `code`.', '\n\n'],
	'a list': ['- an item with **bold** ', 'and `code`\n'],
	'a table': ['| some **bold** ', '| words |\n'],
	'a quote': ['> Some **bold** ', 'words\n>\n'],
	code: ['const one = ', 'call();\n'],
};
const heads: Readonly<Record<string, string>> = { 'a table': '| a | b |\n|---|---|\n', code: '```js\n' };

test.for(Object.entries(kinds))('does not redraw finished blocks of %s', async ([kind, pieces]) => {
	const module = await loadModule<typeof import('../../src/page/markdown/markdown.ts')>(page, 'markdown/markdown');
	const drawn = await module.evaluate(
		({ createMarkdown }, { head, pieces }) => {
			const root = document.createElement('div');
			const markdown = createMarkdown(root);
			const created = document.createElement;
			let made = 0;
			document.createElement = (...given: Parameters<typeof created>) => {
				made += 1;
				return Reflect.apply(created, document, given);
			};
			markdown.write(head);
			for (let at = 0; at < 2_000; at += 1) {
				markdown.write(pieces[at % pieces.length] ?? '');
				markdown.flush();
			}
			markdown.end();
			document.createElement = created;
			return { made, stands: root.querySelectorAll('*').length };
		},
		{ head: heads[kind] ?? '', pieces },
	);
	// A piece draws its block once, and the following pieces draw this block at most once more.
	expect(drawn.made).toBeLessThan(drawn.stands * 3 + 100);
});
