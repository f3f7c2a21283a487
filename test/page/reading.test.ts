/** A person reads a chat: with a long history, with a growing answer, and after a reload. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type OpenTurn, text } from '../e2e/ui/stage.ts';
import {
	client,
	forgive,
	openChat,
	openPage,
	openStage,
	page,
	readTexts,
	say as sayHere,
	sees,
	site,
	stage,
} from './setup.ts';

openPage({ width: 900, height: 600 });
openStage();
beforeEach(openChat);

/** The pixels below the visible part of the conversation. */
const distance = () =>
	page.locator('#scroller').evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);

async function post(path: string, body: string, type: string) {
	const answer = await fetch(`${stage.url}/v1/sessions${path}`, {
		method: 'POST',
		headers: { 'content-type': type },
		body,
	});
	return JSON.parse(await answer.text());
}

/** Makes a session with runs of a question and an answer. The run `calling` calls a tool fifty times. */
async function makeHistory(runs: number, calling: number, toAnswer = (at: number) => `Answer ${at}.`): Promise<string> {
	stage.play([text('Hello.')]);
	const { id } = await post('', JSON.stringify({ agent: 'desk', text: 'Hello?' }), 'application/json');
	await page.goto(`${site.url}/#/sessions/${id}`);
	await sees('.usage', 'tokens');
	const exported = await (await fetch(`${stage.url}/v1/sessions/${id}/export`)).json();
	const [run] = exported.runs;
	const [asked, answered] = exported.messages;
	const { createdAt } = asked;
	const messages: object[] = [];
	const add = (message: object) => messages.push({ ...message, createdAt, id: String((messages.length + 1) * 65_536) });
	const toRun = (at: number) => {
		const runId = `run-${at}`;
		const firstMessage = String((messages.length + 1) * 65_536);
		add({ ...asked, runId, content: `Question ${at}?`, parts: undefined });
		for (let n = 0; at === calling && n < 50; n += 1) {
			add({ ...answered, runId, content: '', toolCalls: [{ id: `c${n}`, name: 'locate', input: {} }] });
			add({ runId, role: 'tool', toolCallId: `c${n}`, content: `Place ${n}` });
			// A result follows its call.
			Object.assign(messages.at(-1) ?? {}, { id: String((messages.length - 1) * 65_536 + 1) });
		}
		add({ ...answered, runId, content: toAnswer(at) });
		return { ...run, id: runId, stored: { ...run.stored, firstMessage } };
	};
	const all = Array.from({ length: runs }, (_, at) => toRun(at));
	const made = await post('/import', JSON.stringify({ ...exported, runs: all, messages }), 'application/json');
	expect(made.error).toBeUndefined();
	return made.id;
}

test('opens a long history at its end, and loads earlier messages without a jump', async () => {
	const id = await makeHistory(100, 80);
	await page.goto(`${site.url}/#/sessions/${id}`);
	await sees('.prose', 'Answer 99.');
	const first = await readTexts('.message');
	expect(first.length).toBeLessThanOrEqual(60);
	expect(first.at(-1)).toBe('You: Question 99? from outside');
	expect(await distance()).toBeLessThan(4);

	// The reader scrolls up. The visible messages stay in place while earlier messages are inserted.
	for (let count = first.length; count < 100; ) {
		const moved = await page.evaluate(async () => {
			const scroller = document.querySelector('#scroller');
			const anchor = document.querySelector('.message');
			const before = scroller?.scrollHeight;
			if (scroller === null || anchor === null) throw new Error('Nothing is shown.');
			scroller.scrollTop = 0;
			const top = () => anchor.getBoundingClientRect().top;
			const was = top();
			while (scroller.scrollHeight === before) await new Promise(requestAnimationFrame);
			await new Promise(requestAnimationFrame);
			return top() - was;
		});
		expect(Math.abs(moved)).toBeLessThan(60);
		count = await page.locator('.message').count();
	}
	expect(await readTexts('.message')).toEqual(
		Array.from({ length: 100 }, (_, at) => `You: Question ${at}? from outside`),
	);
	expect(await readTexts('.prose')).toEqual(Array.from({ length: 100 }, (_, at) => `Answer ${at}.`));
	await page.locator('#earlier').waitFor({ state: 'hidden' });
	// A call and its result may be in different pages.
	const places = Array.from({ length: 50 }, (_, n) => `Place ${n}`);
	expect(await readTexts('.call[data-state="done"] .answer')).toEqual(places);
});

test('opens a history of long answers at its end, and draws each answer completely', async () => {
	const id = await makeHistory(3, -1, (at) => `${`- item of **${at}**\n`.repeat(3_000)}\nThe end of ${at}.`);
	await page.goto(`${site.url}/#/sessions/${id}`);
	for (const at of [2, 1, 0]) await sees('.prose', `The end of ${at}.`);
	await expect.poll(() => page.locator('#transcript').getAttribute('aria-busy')).toBe(null);
	expect(await page.locator('li > strong').count()).toBe(9_000);
	await expect.poll(distance).toBeLessThan(4);
});

test.each([
	['after the browser has reported the scroll position', true],
	['before the browser reports the scroll position', false],
])('keeps the scroll position at the end when a block shrinks %s', async (_, isReported) => {
	await page.goto(`${site.url}/#/sessions/${await makeHistory(3, -1, (at) => `The end of ${at}.`)}`);
	await sees('.prose', 'The end of 2.');
	await expect.poll(() => page.locator('#transcript').getAttribute('aria-busy')).toBe(null);
	await page.locator('#transcript').evaluate(async (root, waits) => {
		const scroller = document.querySelector('#scroller');
		if (scroller === null) throw new Error('Nothing is shown.');
		const [above, seen, below] = [5_000, 1_000, 0].map((height) => {
			const block = document.createElement('div');
			block.style.height = `${height}px`;
			return block;
		});
		if (above === undefined || seen === undefined || below === undefined) throw new Error('There are three blocks.');
		root.prepend(above);
		root.append(seen, below);
		const reported = new Promise((resolve) => scroller.addEventListener('scroll', resolve, { once: true }));
		scroller.scrollTo({ top: scroller.scrollHeight });
		if (waits) await reported;
		above.style.height = '1000px';
		below.style.height = '1500px';
	}, isReported);
	await expect.poll(distance).toBeLessThan(4);
});

const paragraph = (n: number) =>
	`Paragraph ${n} has **bold** words and \`code\`, and goes on for a line or two so that it wraps.\n\n`;
const blocks = (n: number) => [
	paragraph(n),
	`- one\n- two ${n}\n\n`,
	'| a | b |\n|---|---|\n| 1 | 2 |\n\n',
	`\`\`\`js\nconst a = ${n};\n\`\`\`\n\n`,
];

/** Asks a question. The test writes the answer in pieces. */
async function openAnswer(question: string): Promise<OpenTurn & { readonly end: () => void }> {
	const ready = Promise.withResolvers<OpenTurn>();
	const over = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		ready.resolve(turn);
		await over.promise;
	});
	await sayHere(question);
	return { ...(await ready.promise), end: () => over.resolve() };
}

test('keeps a growing answer in view, and does not move a reader who has scrolled up', async () => {
	const { say, end } = await openAnswer('Write a lot.');
	for (let n = 0; n < 60; n += 1) say(...blocks(n).map(text));
	await sees('.prose code', 'const a = 59;');
	await expect.poll(distance).toBeLessThan(4);
	// The browser does not lay out sections far above.
	expect(
		await page
			.locator('.prose .section')
			.first()
			.evaluate((section) => section.firstElementChild?.checkVisibility({ contentVisibilityAuto: true })),
	).toBe(false);
	await page.mouse.move(450, 300);
	await page.mouse.wheel(0, -900);
	await expect.poll(distance).toBeGreaterThan(500);
	// The scrolling of the wheel lasts some frames.
	await page.locator('#scroller').evaluate(async (node) => {
		for (let still = 0, last = -1; still < 20; last = node.scrollTop) {
			await new Promise(requestAnimationFrame);
			still = node.scrollTop === last ? still + 1 : 0;
		}
	});
	await page.evaluate(() => {
		const seen = document.elementFromPoint(450, 200);
		const jumps: number[] = [];
		Reflect.set(window, 'jumps', jumps);
		if (seen === null) return;
		let top = seen.getBoundingClientRect().top;
		const look = () => {
			const now = seen.getBoundingClientRect().top;
			jumps.push(Math.abs(now - top));
			top = now;
			requestAnimationFrame(look);
		};
		look();
	});
	for (let n = 60; n < 120; n += 1) say(...blocks(n).map(text));
	end();
	await sees('.usage', 'tokens');
	const jumps = await page.evaluate<number[]>(() => Reflect.get(window, 'jumps'));
	expect(jumps.length).toBeGreaterThan(5);
	expect(Math.max(...jumps)).toBeLessThan(1);
	expect((await readTexts('.prose code')).filter((code) => code.startsWith('const a'))).toHaveLength(120);
});

test('shows a growing answer after a reload, without repeated or vanishing text', async () => {
	const { say, end } = await openAnswer('Count.');
	for (let n = 0; n < 20; n += 1) say(text(paragraph(n)));
	await sees('.prose', 'Paragraph 19');
	// Records the shown text from the first frame on.
	const script = await page.addInitScript(() => {
		const shown: string[] = [];
		Reflect.set(window, 'shown', shown);
		const look = () => {
			const now = [...document.querySelectorAll('.message, .prose')].map((node) => node.textContent).join('\n');
			if (now !== shown.at(-1)) shown.push(now);
			requestAnimationFrame(look);
		};
		look();
	});
	onTestFinished(() => script.dispose());
	await page.reload();
	await sees('.prose', 'Paragraph 19');
	for (let n = 20; n < 40; n += 1) say(text(paragraph(n)));
	end();
	await sees('.usage', 'tokens');
	const shown = await page.evaluate<string[]>(() => Reflect.get(window, 'shown'));
	for (const [at, now] of shown.entries()) expect(now.startsWith((shown[at - 1] ?? '').slice(0, -200))).toBe(true);
	expect(shown.map(({ length }) => length)).toEqual(shown.map(({ length }) => length).toSorted((a, b) => a - b));
	const numbers = shown.at(-1)?.match(/Paragraph \d+/g);
	expect(numbers).toEqual(Array.from({ length: 40 }, (_, n) => `Paragraph ${n}`));
});

test('shows images of the workspace, and all other images as text', async () => {
	const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
	const image = new Blob([Buffer.from(pixel, 'base64')]);
	stage.play([text('What should I draw?')]);
	const { id } = await post('', JSON.stringify({ agent: 'desk', text: 'Draw.' }), 'application/json');
	await client.writeFile(id, 'charts/sales 2026.png', image);
	await client.writeFile(id, 'broken.png', new Blob(['This is no image.']));
	const links = ['./charts/sales%202026.png', 'broken.png', 'missing.png', '//a.example/b.png', 'notes.svg'];
	stage.play([text(`Here:\n\n${links.map((path, at) => `![Image ${at}](${path})`).join('\n\n')}\n\nThat is all.`)]);
	const asked: string[] = [];
	page.on('request', (request) => asked.push(new URL(request.url()).hostname));
	await page.goto(`${site.url}/#/sessions/${id}`);
	await sees('.prose', 'What should I draw?');
	await sayHere('Sales.');
	const shown = page.locator('.prose img');
	await shown.waitFor();
	await sees('.prose', 'That is all.');
	await page.reload();
	await shown.waitFor();
	expect(await shown.evaluateAll((all) => all.map((one) => [one.getAttribute('alt'), one.clientWidth]))).toEqual([
		['Image 0', 1],
	]);
	expect((await readTexts('.prose p')).slice(-5, -1)).toEqual(
		links.slice(1).map((path, at) => `![Image ${at + 1}](${path})`),
	);
	expect(new Set(asked)).toEqual(new Set([new URL(site.url).hostname]));
	forgive(404);
});
