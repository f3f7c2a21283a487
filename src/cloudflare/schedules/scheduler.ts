import { RunletError } from '../../core/base/errors.ts';
import type { LastWake } from '../../core/tool/index.ts';
import type { SchedulerOptions } from '../agent/schedule-connector.ts';
import { log, toFailureFields } from '../log.ts';
import { type RpcResult, toRpcResult } from '../objects/reach.ts';
import type { NewSchedule, ScheduleQuery, Scheduler, StoredSchedule, WakeTarget } from '../objects/schedule-api.ts';
import { toSpeaker } from '../session/store/inbound.ts';
import { type DueSchedule, ScheduleRows } from './rows.ts';
import { assertTime, findNext } from './time.ts';
import { createSpentFinder, type FindSpent, wake } from './wake.ts';

const mostOfSession = 100;
const mostOfOwner = 10_000;

/** How many sessions wake in parallel, and how many schedules an alarm reads at a time. */
const atOnce = 50;
const readAtOnce = 500;

/** The pauses between attempts, in milliseconds. If the last attempt fails too, the due time counts as failed. */
const pausesMs = [10_000, 60_000, 360_000, 1_800_000];

/** How long a schedule stays listed after its last due time, in milliseconds. */
const shownMs = 7 * 86_400_000;

/** The schedules of an owner. The object's alarm is set to the next due time. */
export class OwnerScheduler implements Scheduler {
	readonly #options: SchedulerOptions;
	readonly #rows: ScheduleRows;

	constructor(options: SchedulerOptions) {
		this.#options = options;
		this.#rows = new ScheduleRows(options.storage);
	}

	putSchedule(schedule: NewSchedule): Promise<RpcResult<StoredSchedule>> {
		return this.#change(() => this.#put(schedule));
	}

	setAgentSchedules(schedules: readonly NewSchedule[]): Promise<RpcResult<void>> {
		return this.#change(() => {
			const isKept = (stored: StoredSchedule) =>
				stored.target.kind === 'session' || schedules.some((schedule) => isSamePlace(stored, schedule));
			for (const stored of this.#rows.list()) if (!isKept(stored)) this.#rows.remove(stored.target, stored.name);
			for (const schedule of schedules) this.#put(schedule);
		});
	}

	listSchedules(query?: ScheduleQuery): Promise<RpcResult<readonly StoredSchedule[]>> {
		return toRpcResult(async () => this.#rows.list(query));
	}

	runSchedule(
		target: WakeTarget,
		name: string,
		{ at, by, request }: Parameters<Scheduler['runSchedule']>[2],
	): Promise<RpcResult<LastWake | undefined>> {
		return toRpcResult(async () => {
			const found = this.#rows.get(target, name);
			if (found === undefined) return undefined;
			const askers = [...(found.askers ?? []), toSpeaker(by, found)];
			const due = { ...found, dueAt: at, request, failed: 0, askers };
			const woken = await wake(due, this.#options, createSpentFinder(this.#options.config()));
			if (woken === 'gone') return undefined;
			const last = { ...woken, at: toTime(at) };
			this.#rows.noteWake(due, last);
			return last;
		});
	}

	cancelSchedule(target: WakeTarget, name: string): Promise<RpcResult<boolean>> {
		return this.#change(() => this.#rows.remove(target, name));
	}

	async dropSession(session: string): Promise<void> {
		this.#rows.removeSession(session);
		await this.#setAlarm();
	}

	async handleAlarm(): Promise<void> {
		const now = this.#options.now();
		try {
			for (;;) {
				const due = this.#rows.listDue(now, readAtOnce);
				await this.#wakeAll(due, now);
				if (due.length < readAtOnce) break;
			}
			this.#rows.removeOver(now - shownMs);
		} catch (cause) {
			// If an alarm throws, the platform repeats it only a few times.
			log('error', 'schedules.alarm_failed', toFailureFields(cause));
			return this.#options.storage.setAlarm(now + 60_000);
		}
		await this.#setAlarm();
	}

	#put(schedule: NewSchedule): StoredSchedule {
		const { target, name, time } = schedule;
		const now = this.#options.now();
		const before = this.#rows.get(target, name);
		if (before !== undefined && isSame(before, schedule)) return before;
		assertTime(time, now);
		if (before === undefined) this.#assertRoom(target);
		const stored = { ...schedule, createdAt: now, dueAt: findNext(time, { after: now, from: now }) };
		this.#rows.put(stored, before === undefined);
		return stored;
	}

	#assertRoom(target: WakeTarget): void {
		const refuse = (whose: string, most: number) => {
			const text = `${whose} has ${most} schedules, which is the most. Cancel one first.`;
			throw new RunletError('conflict', text);
		};
		if (target.kind === 'session' && this.#rows.countOf(target) >= mostOfSession) refuse('The session', mostOfSession);
		if (this.#rows.count() >= mostOfOwner) refuse('The owner', mostOfOwner);
	}

	/** Wakes the targets of schedules, the oldest first. A slow session holds up no other than its own. */
	async #wakeAll(due: readonly DueSchedule[], now: number): Promise<void> {
		const findSpent = createSpentFinder(this.#options.config());
		const rest = due.values();
		const work = async () => {
			for (const one of rest) await this.#wake(one, now, findSpent);
		};
		await Promise.all(Array.from({ length: atOnce }, work));
	}

	/** Wakes the target of a schedule, and stores the outcome. Several missed times cause only one wake. */
	async #wake(due: DueSchedule, now: number, findSpent: FindSpent): Promise<void> {
		const { target, name, time, dueAt, createdAt } = due;
		const next = findNext(time, { after: Math.max(now, dueAt), from: createdAt });
		try {
			const woken = await wake(due, this.#options, findSpent);
			if (woken === 'gone') this.#rows.remove(target, name);
			else this.#rows.settle(due, { last: { ...woken, at: toTime(dueAt) }, dueAt: next });
		} catch (cause) {
			log('warn', 'schedule.not_woken', toFailureFields(cause));
			const pause = pausesMs[due.failed];
			if (pause !== undefined) return this.#rows.retry(due, now + pause);
			const reason = 'the session could not be reached';
			this.#rows.settle(due, { last: { outcome: 'failed', at: toTime(dueAt), reason }, dueAt: next });
		}
	}

	/** Changes all rows or none, and sets the next alarm. */
	#change<T>(work: () => T): Promise<RpcResult<T>> {
		return toRpcResult(async () => {
			const done = this.#rows.transaction(work);
			await this.#setAlarm();
			return done;
		});
	}

	async #setAlarm(): Promise<void> {
		const { storage } = this.#options;
		const [next, standing] = [this.#rows.nextAt() ?? null, await storage.getAlarm()];
		if (next === standing) return;
		await (next === null ? storage.deleteAlarm() : storage.setAlarm(next));
	}
}

function isSamePlace(a: NewSchedule, b: NewSchedule): boolean {
	return a.name === b.name && JSON.stringify(a.target) === JSON.stringify(b.target);
}

/** Whether a schedule is unchanged. A schedule that is over counts as changed, so it can be set again. */
function isSame({ dueAt, ...before }: StoredSchedule, schedule: NewSchedule): boolean {
	const toText = ({ owner, user, time: { at, cron, every, timezone }, text, askers }: NewSchedule) =>
		JSON.stringify([owner, user, at, cron, every, timezone, text, askers]);
	return dueAt !== undefined && toText(before) === toText(schedule);
}

function toTime(milliseconds: number): string {
	return new Date(milliseconds).toISOString();
}
