import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import type { Answer, Asked } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** The number of concurrent sessions. */
const inFlight = 4;
/** The pause between two checks of a session, in milliseconds. */
const lookMs = 100;
const planned = v.looseObject({ planId: v.string() });

const toPatch = (tag: string): string =>
	[
		'*** Begin Patch',
		...['a.txt', 'b.txt'].flatMap((path) => [`*** Update File: ${path}`, '@@', '-end', `+patch ${tag}`, '+end']),
		`*** Add File: new-${tag}.txt`,
		'+new',
		'*** End Patch',
		'',
	].join('\n');

/** Makes an edit, a patch, a plan, the plan's changes, another edit and its undo. Calls of all runs have the same ids. */
function editFiles({ tag, turn, time, results }: Asked): Answer {
	const insert = (path: string, line: string) => ({ path, oldText: 'end\n', newText: `${line} ${tag}\nend\n` });
	const calls = [
		{ id: 'edit', tool: 'edit_file', input: () => insert('a.txt', 'edit') },
		{ id: 'patch', tool: 'apply_patch', input: () => ({ patch: toPatch(tag) }) },
		{
			id: 'plan',
			tool: 'plan_changes',
			input: () => ({
				summary: 'Goes on.',
				edits: [insert('a.txt', 'plan'), insert('b.txt', 'plan'), { path: `new-${tag}.txt`, delete: true }],
			}),
		},
		{
			id: 'apply',
			tool: 'apply_plan',
			input: () => ({ planId: v.parse(planned, JSON.parse(results.at(-1) ?? '')).planId }),
		},
		{ id: 'wrong', tool: 'edit_file', input: () => insert('a.txt', 'wrong') },
		{ id: 'undo', tool: 'undo_changes', input: () => ({}) },
	].slice(turn, turn + 1);
	const text = `${tag}, turn ${turn}, attempt ${time}.`;
	return { text, calls: calls.map(({ input, ...call }) => ({ ...call, input: input() })) };
}

/** How many files each call of a run changes. */
const filesOfCall = { edit: 1, patch: 3, apply: 3, wrong: 1, undo: 1 };

/**
 * SIGKILLs the server during edits, patches and plans, mostly between a change and its result. No change is partial,
 * repeated or lost, and an undo reverts exactly one change.
 */
export function files({ count = 50, seed }: Options): Promise<Figures> {
	const world = { script: editFiles, pieceLength: 200, paceMs: 2, toolMs: 250, seed };
	return onStage(world, async (stage) => {
		const { server, random } = stage;
		let isOver = false;
		const work = Array.from({ length: inFlight }, (_, n) => edit(stage, `s${n}`, () => isOver));
		const killing = async (): Promise<void> => {
			for (let n = 0; n < count; n++) {
				await pause(random(200, 2_000));
				await server.restart();
			}
			isOver = true;
		};
		const [, ...done] = await Promise.all([killing(), ...work]);
		const sum = (read: (one: (typeof done)[number]) => number) => done.reduce((total, one) => total + read(one), 0);
		const { effects } = stage.outside;
		const tools = ['edit_file', 'apply_patch', 'plan_changes', 'apply_plan', 'undo_changes'];
		return {
			seed: stage.seed,
			kills: count,
			runs: sum(({ runs }) => runs),
			'runs given up and taken up again': sum(({ continued }) => continued),
			'calls that ran again after their change': tools.reduce((total, tool) => total + effects.repeated(tool), 0),
			'changes of files': sum(({ changes }) => changes),
			'looks at the files meanwhile': sum(({ looks }) => looks),
			'half made, made twice, missing, wrongly undone': 0,
		};
	});
}

/** Lets a session edit its files, run after run, until `isOver`. Throws if the files are wrong. */
async function edit(stage: Stage, name: string, isOver: () => boolean) {
	const { client } = stage;
	const session = await client.create('editor');
	await client.putFile(session, 'a.txt', 'end\n');
	await client.putFile(session, 'b.txt', 'end\n');
	let [runs, continued, looks] = [0, 0, 0];
	for (; runs === 0 || !isOver(); runs++) {
		const tag = `${name}-${runs}`;
		await client.send(session, tag);
		for (;;) {
			const { status, error } = await client.state(session);
			if (status === 'completed') break;
			if (status === 'error' && error?.code === 'interrupted') {
				await client.continue(session);
				continued++;
			} else if (status !== 'running') throw new Error(`${tag}: the run is ${status} (${error?.message})`);
			looks += (await look(stage, session)) ? 1 : 0;
			await pause(lookMs);
		}
	}
	return { runs, continued, looks, changes: await checkAll(stage, session, name, runs) };
}

/**
 * Throws if only some files of a patch or of a plan are changed. Returns whether nothing changed during the check.
 */
async function look({ client }: Stage, session: string): Promise<boolean> {
	const before = await client.readFile(session, 'a.txt');
	const other = await client.readFile(session, 'b.txt');
	const paths = await client.listFiles(session);
	if (before !== (await client.readFile(session, 'a.txt'))) return false;
	const pick = (text: string) => text.split('\n').filter((line) => /^(?:patch|plan) /.test(line));
	if (!isDeepStrictEqual(pick(before), pick(other))) throw new Error(`half a change:\n${before}\n${other}`);
	const last = pick(before).at(-1)?.split(' ');
	const expected = ['a.txt', 'b.txt', ...(last?.[0] === 'patch' ? [`new-${last[1]}.txt`] : [])];
	if (!isDeepStrictEqual(paths, expected))
		throw new Error(`half a change: ${paths.join(', ')} after ${last?.join(' ')}`);
	return true;
}

/** Compares the files and the journal with the requested changes. Returns the number of changes. */
async function checkAll({ client }: Stage, session: string, name: string, runs: number): Promise<number> {
	const toText = (...words: readonly string[]): string =>
		[...Array.from({ length: runs }, (_, n) => words.map((word) => `${word} ${name}-${n}\n`)).flat(), 'end\n'].join('');
	const expected = { 'a.txt': toText('edit', 'patch', 'plan'), 'b.txt': toText('patch', 'plan') };
	for (const [path, text] of Object.entries(expected)) {
		const found = await client.readFile(session, path);
		if (found !== text) throw new Error(`${name}: ${path} is\n${found}\nand should be\n${text}`);
	}
	const paths = await client.listFiles(session);
	if (!isDeepStrictEqual(paths, Object.keys(expected))) throw new Error(`${name}: there is ${paths.join(', ')}`);
	const changes = await client.changes(session);
	for (const [call, each] of Object.entries(filesOfCall)) {
		const made = changes.filter(({ callId }) => callId === call).length;
		if (made !== each * runs) throw new Error(`${name}: ${call} changed ${made} files in ${runs} runs`);
	}
	return changes.length;
}
