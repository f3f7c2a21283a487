import { RunletError } from '../ground/errors.ts';
import { describeChanges, type Files, type Replacement } from './plan.ts';
import type { ChangedFile } from './workspace.ts';

/** An entry of the journal: one change, with the files before and after it. */
export interface Entry<C> {
	/** The step that it belongs to. Missing for what people did and for an undo. */
	readonly step?: unknown;
	readonly files: readonly Replacement<C>[];
	readonly changed: readonly ChangedFile[];
	/** Whether it was undone. */
	readonly isUndone: boolean;
}

/** What an undo comes to. */
export interface UndoPlan<C, E extends Entry<C>> {
	/** The entries that are undone. */
	readonly entries: readonly E[];
	readonly files: readonly Replacement<C>[];
	/** The changes that are undone, the newest first. */
	readonly undone: readonly ChangedFile[];
	/** What the undo does. */
	readonly changed: readonly ChangedFile[];
}

/**
 * Finds what undoes the newest steps. It changes nothing.
 *
 * @param journal the entries, the newest first
 */
export function planUndo<C, E extends Entry<C>>(
	journal: Iterable<E>,
	steps: number,
	current: Pick<Files<C>, 'find'>,
): UndoPlan<C, E> {
	const entries = selectSteps<C, E>(journal, steps);
	const files = new Map<string, Replacement<C>>();
	for (const entry of entries) {
		for (const { path, before, after } of entry.files) {
			const found = current.find(path);
			const file = found === 'folder' ? undefined : found;
			const now = files.has(path) ? files.get(path)?.after : file;
			if (now?.version !== after?.version)
				throw new RunletError(
					'conflict',
					`${path} was changed since by somebody else, so nothing was undone. Read it, and edit it instead.`,
					{ path },
				);
			files.set(path, { path, before: file, after: before });
		}
	}
	const undone = entries.flatMap(({ changed }) => changed.toReversed());
	const replaced = [...files.values()].filter((one) => one.before?.version !== one.after?.version);
	const back = new Map(undone.flatMap(({ path, from }) => (from === undefined ? [] : [[from, path]])));
	return { entries, files: replaced, undone, changed: describeChanges(replaced, back) };
}

function selectSteps<C, E extends Entry<C>>(journal: Iterable<E>, steps: number): readonly E[] {
	const chosen = new Set<unknown>();
	const entries: E[] = [];
	for (const entry of journal) {
		const { step, isUndone } = entry;
		if (step === undefined || isUndone || entry.files.length === 0) continue;
		if (!chosen.has(step) && chosen.size === steps) continue;
		chosen.add(step);
		entries.push(entry);
	}
	if (chosen.size < steps) throw createTooFew(chosen.size);
	return entries;
}

function createTooFew(there: number): RunletError {
	const remedy = there === 0 ? 'There is nothing to undo.' : `Only ${there} can be undone. Ask for at most ${there}.`;
	return new RunletError('invalid_argument', `steps: ${remedy}`, { field: 'steps' });
}
