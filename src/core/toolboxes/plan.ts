import * as v from 'valibot';
import { createFieldError, RunletError, toMessageText } from '../base/errors.ts';
import { Work } from '../base/work.ts';
import { define } from '../tool/define.ts';
import type { Tool } from '../tool/index.ts';
import { createDiff } from '../workspace/diff.ts';
import type { Edit, Workspace } from '../workspace/index.ts';
import { addVersions, Draft } from './edit/draft.ts';
import { replaceText } from './edit/replace.ts';
import { changeOnce, fileChanger, filePath, getWorkspace, joinPaths } from './files.ts';

/** The cost of comparing a character of two texts, in steps. */
const perCompared = 5;

/** The maximum number of stored plans. Above this number, the oldest plan is dropped. */
const mostPlans = 20;

const plannedEdit = v.object({
	path: filePath,
	oldText: v.optional(v.pipe(v.string(), v.description('The piece that is replaced; left out for a whole file'))),
	newText: v.optional(v.pipe(v.string(), v.description('What comes instead, or the whole text of the file'))),
	delete: v.optional(v.pipe(v.boolean(), v.description('Deletes the file'))),
	moveTo: v.optional(v.pipe(v.string(), v.description('Moves the file to this path'))),
});
type PlannedEdit = v.InferOutput<typeof plannedEdit>;

const changedFile = v.object({ path: v.string(), kind: v.picklist(['created', 'changed', 'deleted', 'moved']) });
const version = v.nullable(v.number());

const keptPlan = v.object({
	edits: v.array(
		v.variant('type', [
			v.object({ type: v.literal('write'), path: v.string(), content: v.string() }),
			v.object({ type: v.literal('delete'), path: v.string() }),
			v.object({ type: v.literal('move'), from: v.string(), to: v.string() }),
		]),
	),
	versions: v.record(v.string(), version),
	changed: v.array(changedFile),
	/** Missing in plans of older versions. */
	diff: v.optional(v.string()),
	isUsed: v.boolean(),
});
type KeptPlan = v.InferOutput<typeof keptPlan>;

export function planChangesTool(): Tool {
	return define({
		name: 'plan_changes',
		description:
			'Plan edits of several text files. They are checked together and shown as one diff; nothing is changed until apply_plan.',
		inputSchema: v.object({
			summary: v.pipe(v.string(), v.description('What the changes are for, in a sentence')),
			edits: v.pipe(
				v.array(plannedEdit),
				v.minLength(1),
				v.maxLength(200),
				v.description('The edits, made one after another'),
			),
		}),
		passInput: true,
		...fileChanger,
		onRequest: ({ summary }) => ['Planning', summary],
		onResult: (_, { planId, diff }) => ['Planned', `${planId}, ${diff.split('\n').length} lines of diff`],
		fn: async ({ edits }, context) => {
			const workspace = getWorkspace(context);
			return changeOnce(workspace, async () => {
				const remedy = 'Plan fewer edits, with shorter old texts, or of smaller files.';
				const work = new Work({ signal: context.signal, field: 'edits', remedy });
				const draft = await draftEdits(workspace, edits, work);
				const diffs = new Map<string, string>();
				for (const one of await draft.listTexts()) {
					await work.add(perCompared * ((one.before ?? '').length + (one.after ?? '').length));
					diffs.set(one.path, await createDiff(one));
				}
				const changed = draft.list().map(({ path, kind }) => ({ path, kind }));
				// The person who allows the plan must read the name of each file.
				const unseen = changed
					.filter(({ path }) => !diffs.get(path))
					.map(({ path, kind }) => `No diff, because it is no text or too long: ${path} is ${kind}.\n`);
				const diff = [...unseen, ...diffs.values()].join('');
				const planId = `plan-${crypto.randomUUID().slice(0, 8)}`;
				const result = { planId, diff };
				await keepPlan(
					workspace,
					planId,
					{ edits: draft.edits, versions: draft.versions, changed, diff, isUsed: false },
					result,
				);
				return result;
			});
		},
	});
}

export function applyPlanTool(): Tool {
	return define({
		name: 'apply_plan',
		description: 'Make all changes of a plan, or none. A plan is used once, and not if one of its files changed since.',
		inputSchema: v.object({ planId: v.pipe(v.string(), v.description('What plan_changes gave')) }),
		passInput: true,
		...fileChanger,
		onRequest: ({ planId }) => ['Applying', planId],
		preview: async ({ planId }, { workspace }) => workspace && (await readPlan(workspace, planId)).diff,
		onResult: (_, { changed }) => ['Changed', joinPaths(changed)],
		fn: async ({ planId }, context) => {
			const workspace = getWorkspace(context);
			return changeOnce(workspace, async () => {
				const plan = await readPlan(workspace, planId);
				await assertFresh(workspace, planId, plan);
				const used = {
					type: 'note',
					key: toKey(planId),
					value: { ...plan, edits: [], diff: undefined, isUsed: true },
				} as const;
				const result = { changed: plan.changed };
				await workspace.change([...addVersions(plan.edits, plan.versions), used], result);
				return result;
			});
		},
	});
}

/** Drafts all edits. Collects all mistakes, and throws them as one error. */
async function draftEdits(workspace: Workspace, edits: readonly PlannedEdit[], work: Work): Promise<Draft> {
	const draft = new Draft(workspace);
	const mistakes = new Map<number, string>();
	const attempt = async (at: number, change: (edit: PlannedEdit) => Promise<void>): Promise<void> => {
		const edit = edits[at];
		if (edit === undefined || mistakes.has(at)) return;
		try {
			await change(edit);
		} catch (error) {
			if (!(error instanceof RunletError) || work.isOver) throw error;
			mistakes.set(at, `edits.${at} (${edit.path}): ${toMessageText(error)}`);
		}
	};
	for (const at of edits.keys()) await attempt(at, (edit) => draftEdit(draft, edit, work));
	// Check the new paths at the end, because a later edit can delete the file at a path.
	for (const at of edits.keys()) await attempt(at, ({ path, moveTo = path }) => draft.assertPlace(moveTo));
	if (mistakes.size > 0) {
		const told = [...mistakes].toSorted(([one], [other]) => one - other).map(([, mistake]) => mistake);
		throw new RunletError('invalid_argument', `${told.join('\n')}\nNothing is planned. Correct this and plan again.`, {
			field: 'edits',
		});
	}
	return draft;
}

async function draftEdit(
	draft: Draft,
	{ path, oldText, newText, delete: isDelete = false, moveTo }: PlannedEdit,
	work: Work,
) {
	const changes = oldText !== undefined || newText !== undefined;
	if (isDelete) {
		if (changes || moveTo !== undefined)
			throw createMistake('delete: a file that is deleted is not changed or moved too.');
		return draft.delete(path);
	}
	if (!changes && moveTo === undefined)
		throw createMistake('give newText, delete or moveTo: this edit changes nothing.');
	if (changes && newText === undefined) throw createMistake('newText: missing. Give "" to take oldText out.');
	if (newText !== undefined) {
		const isPart = oldText !== undefined && oldText !== '';
		if (!isPart) await draft.write(path, newText);
		else {
			const replacement = replaceText(await draft.read(path), path, { oldText, newText }, work);
			await draft.write(path, (await work.do(replacement)).text);
		}
	}
	if (moveTo !== undefined) await draft.move(path, moveTo);
}

function createMistake(message: string): RunletError {
	return new RunletError('invalid_argument', message);
}

function toKey(planId: string): string {
	return `plan/${planId}`;
}

/** Stores a plan. If there are too many plans, drops the oldest plan. */
async function keepPlan(
	workspace: Workspace,
	planId: string,
	plan: Omit<KeptPlan, 'edits'> & { readonly edits: readonly Edit[] },
	result: unknown,
): Promise<void> {
	const ids = [...(await listPlans(workspace)), planId];
	const forgotten = ids.slice(0, Math.max(0, ids.length - mostPlans));
	await workspace.change(
		[
			{ type: 'note', key: toKey(planId), value: plan },
			{ type: 'note', key: 'plans', value: ids.slice(forgotten.length) },
			...forgotten.map((id): Edit => ({ type: 'note', key: toKey(id), value: undefined })),
		],
		result,
	);
}

async function listPlans(workspace: Workspace): Promise<readonly string[]> {
	return v.parse(v.optional(v.array(v.string()), []), await workspace.readNote('plans'));
}

async function readPlan(workspace: Workspace, planId: string): Promise<KeptPlan> {
	const kept = planId === '' || planId.length > 100 ? undefined : await workspace.readNote(toKey(planId));
	if (kept === undefined) {
		const ids = await listPlans(workspace);
		const known = ids.length === 0 ? 'There is none: call plan_changes first.' : `Known: ${ids.join(', ')}.`;
		throw createFieldError('invalid_argument', 'planId', `there is no plan ${planId.slice(0, 100)}. ${known}`);
	}
	const plan = v.parse(keptPlan, kept);
	if (plan.isUsed)
		throw createFieldError(
			'invalid_argument',
			'planId',
			`${planId} was applied already. Plan again with plan_changes.`,
		);
	return plan;
}

async function assertFresh(workspace: Workspace, planId: string, { versions }: KeptPlan): Promise<void> {
	const changed: string[] = [];
	for (const [path, planned] of Object.entries(versions)) {
		const info = await workspace.stat(path);
		if ((info?.type === 'file' ? info.version : null) !== planned) changed.push(path);
	}
	if (changed.length === 0) return;
	throw createFieldError(
		'conflict',
		'planId',
		`${planId} is out of date, because these changed since: ${changed.join(', ')}. Nothing was changed. Read them and plan again.`,
	);
}
