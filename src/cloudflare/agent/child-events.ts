import { createDeferred, type Deferred } from '../../core/base/promises.ts';
import type { RunEvent } from '../../core/chat/index.ts';
import { ChildReader } from './child-reader.ts';
import {
	type EventSource,
	formatTreeId,
	type OpenEvents,
	type ShownEvent,
	type TreeChild,
	type TreeOptions,
} from './event-source.ts';

export function toBeginLabel(agent: string): string {
	return `${agent} works on it`;
}

/**
 * Merges the events of a session and its children for a reader (docs/events.md, "The events of children"). The
 * events of a child begin after the note that names the child, and end before the result of its call. Each id
 * contains the reader's place in the events of every session.
 */
export function joinChildEvents(own: EventSource, options: TreeOptions): EventSource {
	const tree = new Tree(own, options);
	return {
		read: () => tree.read(),
		isOver: () => own.isOver() && tree.isEmpty,
		isLeft: () => own.isLeft(),
		change: () => tree.change(),
		leave: () => tree.leave(),
	};
}

interface Followed {
	readonly child: TreeChild;
	readonly reader: ChildReader;
}

class Tree {
	readonly #own: EventSource;
	readonly #options: TreeOptions;
	readonly #followed = new Map<number, Followed>();
	#held: ShownEvent[] = [];
	#ownId: string;
	#changed: Deferred<void> | undefined;
	#isWatching = false;

	constructor(own: EventSource, options: TreeOptions) {
		this.#own = own;
		this.#options = options;
		this.#ownId = options.from?.own ?? '';
		for (const [number, position] of options.from?.positions ?? []) this.#follow(number, position);
	}

	get isEmpty(): boolean {
		return this.#held.length === 0;
	}

	read(): readonly ShownEvent[] {
		const out: ShownEvent[] = [];
		for (const { child, reader } of this.#followed.values())
			for (let line = reader.take(); line !== undefined; line = reader.take()) {
				const { id, agent, callId } = child;
				const shown = { type: 'child', id: callId, session: id, agent, event: line.event } as const;
				out.push({ child: shown, id: line.id && this.#toId() });
			}
		for (;;) {
			if (this.#held.length === 0) this.#held = [...this.#own.read()];
			const [next] = this.#held;
			if (next?.event === undefined || this.#hasToWait(next.event)) return out;
			this.#held.shift();
			if (next.id !== undefined) this.#ownId = next.id;
			out.push({ ...next, id: next.id && this.#toId() });
		}
	}

	/** Resolves when `read` can have more events. */
	change(): Promise<void> {
		this.#changed ??= createDeferred<void>();
		if (!this.#isWatching) {
			this.#isWatching = true;
			this.#own.change().then(() => {
				this.#isWatching = false;
				this.#wake();
			});
		}
		return this.#changed.promise;
	}

	leave(): void {
		for (const number of this.#followed.keys()) this.#leave(number);
		this.#own.leave();
	}

	#hasToWait(event: RunEvent): boolean {
		switch (event.type) {
			case 'note': {
				const number = this.#options.list().findIndex(({ id }) => id === event.detail);
				const child = this.#options.list()[number];
				if (child === undefined || child.isBackground) return false;
				// If a child continues after an answer, its earlier runs are not read again.
				this.#follow(number, event.label === toBeginLabel(child.agent) ? this.#options.start : '');
				return false;
			}
			case 'tool_result': {
				const [number, found] = [...this.#followed].find(([, { child }]) => child.callId === event.id) ?? [];
				if (number === undefined) return false;
				if (found?.reader.hasAll() === false) return true;
				this.#leave(number);
				return false;
			}
			case 'awaiting':
				return [...this.#followed.values()].some(({ reader }) => !reader.hasAll());
			case 'done':
			case 'halted':
			case 'cancelled':
			case 'error':
				// The run's end cancels its children. The reader does not wait until they have ended.
				for (const number of this.#followed.keys()) this.#leave(number);
				return false;
			default:
				return false;
		}
	}

	#follow(number: number, from: string): void {
		const child = this.#options.list()[number];
		if (child === undefined) return;
		const open: OpenEvents = (lastId) => this.#options.open(child, lastId);
		const known = this.#followed.get(number);
		const reader = known?.reader ?? new ChildReader(from, open, () => this.#wake());
		this.#followed.set(number, { child, reader });
		reader.ask();
	}

	#leave(number: number): void {
		this.#followed.get(number)?.reader.leave();
		this.#followed.delete(number);
	}

	#toId(): string {
		return formatTreeId(
			this.#ownId,
			[...this.#followed].map(([number, { reader }]) => [number, reader.seen] as const),
		);
	}

	#wake(): void {
		this.#changed?.resolve();
		this.#changed = undefined;
	}
}
