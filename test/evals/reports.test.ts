import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parseDocument } from 'htmlparser2';
import { providers } from 'runlet';
import { type EvalDefinition, judge, output, runEval } from 'runlet/evals';
import { describe, expect, test } from 'vitest';
import { escapeXml, toJunit } from '../../src/evals/junit.ts';
import { toHtml } from '../../src/evals/report.ts';
import { toText } from '../../src/evals/table.ts';
import { createModel, desk } from './desk.ts';

const attack = '</script></pre><img src=x onerror="alert(1)"><style>*{}</style>]]>&"\'\u001b[2J\u0000\nboo';

/** Runs an eval with an attack in all texts that a report shows. */
async function runAttack() {
	const named = Object.defineProperty(() => ({ score: 0, metadata: { reason: attack } }), 'name', { value: attack });
	const result = await runEval({
		agent: desk,
		name: attack,
		models: [`scripted-${attack}`],
		script: [attack],
		cases: [
			{ name: attack, input: attack, expect: [output('other')] },
			{ name: 'thrown', input: 'Hi', expect: [() => Promise.reject(new Error(attack))] },
			{ name: 'failed', input: 'Hi', script: [Object.assign(new Error(attack), { status: 400 })] },
		],
		expect: [named],
		scores: [named],
	});
	return [{ file: attack, result }];
}

const run = (more: Partial<EvalDefinition> = {}) =>
	runEval({
		agent: desk,
		providers: [createModel()],
		models: ['scripted-a', 'scripted-b'],
		cases: [
			{ name: 'order', input: 'My order?', expect: [output(/^a: /)] },
			{ name: 'hello', input: 'Hello' },
		],
		...more,
	});

interface Element {
	readonly name: string;
	readonly attribs: Readonly<Record<string, string>>;
	readonly children: readonly Element[];
	readonly data?: string;
}

function parse(xml: string): Element {
	const [root] = parseDocument(xml, { xmlMode: true }).children.filter(({ type }) => type === 'tag');
	return JSON.parse(
		JSON.stringify(root, (key, value) => (['parent', 'prev', 'next'].includes(key) ? undefined : value)),
	);
}

/** The elements that Jenkins and GitLab read (junit-10.xsd of Jenkins): their attributes and children. * is required. */
const schema: Readonly<
	Record<string, { readonly attributes: readonly string[]; readonly children: readonly string[] }>
> = {
	testsuites: { attributes: [], children: ['testsuite'] },
	testsuite: {
		attributes: ['name*', 'tests*', 'failures', 'errors', 'skipped', 'time'],
		children: ['testcase'],
	},
	testcase: { attributes: ['name*', 'classname', 'time'], children: ['failure', 'error', 'skipped'] },
	failure: { attributes: ['message', 'type'], children: [] },
	error: { attributes: ['message', 'type'], children: [] },
	skipped: { attributes: ['message', 'type'], children: [] },
};

function validate({ name, attribs, children }: Element): void {
	const rule = schema[name];
	if (rule === undefined) throw new Error(`<${name}> is not in the schema.`);
	const known = rule.attributes.map((attribute) => attribute.replace('*', ''));
	expect(Object.keys(attribs).filter((attribute) => !known.includes(attribute))).toEqual([]);
	for (const attribute of rule.attributes)
		if (attribute.endsWith('*')) expect(attribs).toHaveProperty(attribute.slice(0, -1));
	for (const number of ['tests', 'failures', 'errors', 'skipped', 'time'])
		if (attribs[number] !== undefined) expect(attribs[number]).toMatch(/^\d+(\.\d+)?$/);
	for (const child of children.filter((one) => one.name !== undefined)) {
		expect(rule.children).toContain(child.name);
		validate(child);
	}
}

describe('the JUnit report', () => {
	test('has the elements and attributes that CI systems read, also with hostile texts', async () => {
		validate(parse(toJunit([{ file: 'a.eval.ts', result: await run({ trialCount: 2 }) }])));
		const xml = toJunit(await runAttack());
		validate(parse(xml));
		expect(xml).not.toMatch(/<(img|script|style)/);
		// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML cannot hold.
		expect(xml).not.toMatch(/[\u0000-\u0008\u001b]/);
	});

	test('has a suite for each model, a case for each trial, and one for each gate', async () => {
		const { children } = parse(toJunit([{ file: 'desk.eval.ts', result: await run() }]));
		const suites = children.filter(({ name }) => name === 'testsuite');
		expect(suites.map(({ attribs }) => [attribs.name, attribs.tests, attribs.failures, attribs.errors])).toEqual([
			['desk.eval.ts scripted-a', '3', '0', '0'],
			['desk.eval.ts scripted-b', '3', '2', '0'],
		]);
		const cases = suites[1]?.children.filter(({ name }) => name === 'testcase') ?? [];
		expect(cases.map(({ attribs, children: inner }) => [attribs.name, inner[0]?.name])).toEqual([
			['order', 'failure'],
			['hello', undefined],
			['gate passRate', 'failure'],
		]);
	});

	test('has no failure if the gates hold: a trial that failed within them is skipped', async () => {
		const result = await run({ gates: { passRate: 0.5 } });
		expect(result.passed).toBe(true);
		const xml = toJunit([{ file: 'desk.eval.ts', result }]);
		expect(xml).not.toMatch(/<(failure|error)|failures="[1-9]|errors="[1-9]/);
		expect(xml).toMatch(/<testcase[^>]* name="order"[^>]*><skipped message="Failed, within the gates: output/);
	});

	test('holds any text: what a parser reads is the text, without what XML cannot hold', () => {
		const anything = fc.string({ unit: 'binary', maxLength: 200 });
		const hostile = fc.constantFrom(
			'<',
			'>',
			'&',
			'"',
			"'",
			']]>',
			'<!--',
			'\ud800',
			'\ufffe',
			'\u0001',
			'\r\n',
			'&amp;',
		);
		const texts = fc.array(fc.oneof(anything, hostile)).map((list) => list.join(''));
		fc.assert(
			fc.property(texts, (text) => {
				const escaped = escapeXml(text);
				expect(escaped).not.toMatch(/[<>"'\r\n]|&(?!(amp|lt|gt|quot|#\d+);)/);
				const { attribs, children } = parse(`<a b="${escaped}">${escaped}</a>`);
				const kept = text
					.toWellFormed()
					.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd');
				expect(attribs.b ?? '').toBe(kept);
				expect(children[0]?.data ?? '').toBe(kept);
			}),
		);
	});
});

describe('the HTML report', () => {
	test('is one file without a script, whose policy allows only its own style', async () => {
		const html = toHtml([{ file: 'desk.eval.ts', result: await run() }]);
		const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html) ?? [];
		const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
		const hash = createHash('sha256').update(style).digest('base64');
		expect(policy).toBe(`default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`);
		expect(html).not.toMatch(/<script|<link|<img|\ssrc=|\shref=|\son\w+=|\sstyle=/i);
	});

	test('escapes every text of models, cases and scorers', async () => {
		const html = toHtml(await runAttack());
		const names = new Set<string>();
		const visit = (nodes: readonly Element[]): void => {
			for (const node of nodes) {
				if (node.name !== undefined) names.add(node.name);
				expect(Object.keys(node.attribs ?? {}).filter((name) => name.startsWith('on'))).toEqual([]);
				visit(node.children ?? []);
			}
		};
		visit(parse(`<all>${html.replace('<!doctype html>', '')}</all>`).children);
		expect([...names].filter((name) => /^(script|img|iframe|object|a|form)$/.test(name))).toEqual([]);
		expect(html.match(/<style>/g)).toHaveLength(1);
		expect(html).toContain('&lt;/script&gt;&lt;/pre&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;');
	});

	test('has the answers, the calls, and the reasons of judges', async () => {
		const judged = { text: '{"reason":"It says <when>.","score":0.9}', usage: { costUsd: 0.01 } };
		const refused = { text: '{"reason":"It is rude.","score":0}', usage: { costUsd: 0.01 } };
		const scripted = { ...providers.scripted([judged, refused]), detect: (model: string) => model === 'judge-model' };
		const result = await runEval({
			agent: desk,
			providers: [createModel(), scripted],
			cases: [
				{ name: 'order', input: 'My order?' },
				{ name: 'other', input: 'My order?' },
			],
			maxConcurrency: 1,
			scores: [judge({ rubric: 'It says when.', model: 'judge-model' })],
		});
		const html = toHtml([{ file: 'desk.eval.ts', result }]);
		expect(html).toContain('judge: 0.9. It says &lt;when&gt;.');
		expect(html).toContain('judge: 0. It is rude.');
		expect(html).toContain('find_order {&quot;id&quot;:&quot;A-1042&quot;}');
		expect(html).toContain('<th scope="row">judges<td>$0.02');
	});
});

describe('the table', () => {
	test('has a column for each model, and lists what failed', async () => {
		const text = toText(await run()).replace(/\d\.\d s/g, '0.0 s');
		expect(text.split('\n')).toEqual([
			'             scripted-a  scripted-b',
			'  order      passed      failed',
			'  hello      passed      passed',
			'  pass rate  2/2         1/2',
			'  steps      1.5         1.5',
			'  tokens     360         360',
			'  cost       $0.003      $0.003',
			'  time       0.0 s       0.0 s',
			'  order, scripted-b: output(/^a: /): "b: {\\"id\\":\\"A-1042\\",\\"arrives\\":\\"today\\"}" has no match.',
			'  scripted-b: gate passRate: 0.5 is below 1.',
		]);
	});

	test('has rates with intervals if each case ran several times', async () => {
		const lines = toText(await run({ trialCount: 3 })).split('\n');
		expect(lines.slice(1, 4)).toEqual([
			'  order      3/3 43–100 %  0/3 0–57 %',
			'  hello      3/3 43–100 %  3/3 43–100 %',
			'  pass rate  6/6 60–100 %  3/6 18–82 %',
		]);
		expect(lines).toContainEqual(expect.stringContaining('order, scripted-b, trial 2: output'));
	});

	test('shows an unknown cost, the means of scores, and their errors', async () => {
		const half = Object.defineProperty(() => 0.5, 'name', { value: 'half' });
		const broken = () => 'x';
		const text = toText(
			await runEval({ agent: desk, script: ['Hi'], cases: [{ input: 'Hi' }], scores: [half, broken] }),
		);
		expect(text).toMatch(/^ {2}half +0\.50$/m);
		expect(text).toMatch(/^ {2}broken +– \(1 errors\)$/m);
		expect(text).toMatch(/^ {2}cost +unknown$/m);
		expect(text).toContain('case 1, scripted: broken: error: It gave "x", and no score from 0 to 1.');
	});

	test('has no control character and no line of a model', async () => {
		const text = toText((await runAttack())[0]?.result ?? (await run()));
		// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that move a cursor.
		expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
		expect(text).not.toMatch(/^boo/m);
	});
});
