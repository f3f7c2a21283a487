import type { Env } from '../../../core/base/env.ts';
import type { Held } from '../budget.ts';
import { createMissing, type PluginName } from '../missing.ts';
import { DurableObject } from '../platform.ts';
import { assertInTime, type Failure, type RpcResult, toFailure } from '../reach.ts';
import type {
	NewSchedule,
	ScheduleApi,
	ScheduleQuery,
	Scheduler,
	StoredSchedule,
	WakeTarget,
} from '../schedule-api.ts';
import type { Upload, UploadContent, UploadQuery, Uploads } from '../upload-api.ts';
import {
	askDirectory,
	type DirectoryApi,
	type DirectoryNamespace,
	type DirectoryPage,
	type DirectoryQuery,
	everybody,
	type SessionReport,
} from './api.ts';
import type { FeedbackChange, FeedbackPage, FeedbackQuery } from './feedback.ts';
import type { Entry, EntryChange, EntryKind, EntryOutcome } from './registry.ts';
import { RegistryStore } from './registry-rows.ts';
import { DirectoryStore } from './store.ts';
import type { WaitingPage, WaitingQuery } from './wait.ts';

interface Opening {
	readonly storage: DurableObjectStorage;
	readonly now: () => number;
}

export interface DirectoryOptions {
	readonly directories: () => DirectoryNamespace;
	readonly now?: () => number;
	/** Missing if the Worker has no schedules. */
	readonly openSchedules?: (at: Opening) => Scheduler;
	/** Missing if the Worker keeps no uploaded files. */
	readonly openUploads?: (at: Opening) => Uploads;
}

export class Directory extends DurableObject<Env> implements DirectoryApi {
	readonly #store: DirectoryStore;
	readonly #registry: RegistryStore;
	readonly #directories: () => DirectoryNamespace;
	readonly #now: () => number;
	readonly #scheduler: Scheduler | undefined;
	readonly #uploads: Uploads | undefined;

	constructor(ctx: DurableObjectState, env: Env, options: DirectoryOptions) {
		super(ctx, env);
		const { directories, now = Date.now, openSchedules, openUploads } = options;
		this.#directories = directories;
		this.#now = now;
		this.#store = new DirectoryStore(ctx.storage);
		this.#registry = new RegistryStore(ctx.storage);
		this.#scheduler = openSchedules?.({ storage: ctx.storage, now });
		this.#uploads = openUploads?.({ storage: ctx.storage, now });
	}

	async touch(entry: SessionReport, owner?: string, deadline?: number): Promise<Held | undefined> {
		assertInTime(deadline);
		this.#store.touch(entry);
		if (entry.owner !== undefined) return undefined;
		if (owner !== undefined && !this.#store.hasOwner(owner)) {
			await askDirectory(this.#directories(), everybody, (one) => one.addOwner(owner));
			this.#store.addOwner(owner);
		}
		return this.#store.held.read(entry.user);
	}

	async readHeld(user?: string, deadline?: number): Promise<Held> {
		assertInTime(deadline);
		return this.#store.held.read(user);
	}

	async remove(id: string): Promise<void> {
		this.#store.remove(id, this.#now());
		await this.#scheduler?.dropSession(id);
	}

	async list(page: DirectoryQuery, deadline?: number): Promise<DirectoryPage> {
		assertInTime(deadline);
		return this.#store.list(page);
	}

	async listWaiting(page: WaitingQuery): Promise<WaitingPage> {
		return this.#store.listWaiting(page);
	}

	async putFeedback(change: FeedbackChange): Promise<void> {
		this.#store.putFeedback(change);
	}

	async listFeedback(page: FeedbackQuery): Promise<FeedbackPage> {
		return this.#store.feedback.list(page);
	}

	async noteSent(request: string, session: string): Promise<void> {
		this.#store.noteSent(request, session, this.#now());
	}

	async findSent(request: string): Promise<string | undefined> {
		return this.#store.findSent(request, this.#now());
	}

	async addOwner(owner: string): Promise<void> {
		this.#store.addOwner(owner);
	}

	async listOwners(limit: number, after?: string): Promise<string[]> {
		return this.#store.listOwners(limit, after);
	}

	async putEntry(change: EntryChange): Promise<EntryOutcome> {
		return this.#registry.put(change, this.#now());
	}

	async getEntry(kind: EntryKind, name: string): Promise<Entry | undefined> {
		return this.#registry.get(kind, name);
	}

	async listEntries(kind: EntryKind): Promise<Entry[]> {
		return this.#registry.list(kind);
	}

	putSchedule(schedule: NewSchedule): Promise<RpcResult<StoredSchedule>> {
		return this.#schedule((scheduler) => scheduler.putSchedule(schedule));
	}

	setAgentSchedules(schedules: readonly NewSchedule[]): Promise<RpcResult<void>> {
		return this.#schedule((scheduler) => scheduler.setAgentSchedules(schedules));
	}

	listSchedules(query?: ScheduleQuery): Promise<RpcResult<readonly StoredSchedule[]>> {
		return this.#schedule((scheduler) => scheduler.listSchedules(query));
	}

	runSchedule(...args: Parameters<ScheduleApi['runSchedule']>): ReturnType<ScheduleApi['runSchedule']> {
		return this.#schedule((scheduler) => scheduler.runSchedule(...args));
	}

	cancelSchedule(target: WakeTarget, name: string): Promise<RpcResult<boolean>> {
		return this.#schedule((scheduler) => scheduler.cancelSchedule(target, name));
	}

	override async alarm(): Promise<void> {
		await this.#scheduler?.handleAlarm();
		await this.#uploads?.handleAlarm();
	}

	putUpload(upload: Upload, content: Uint8Array): Promise<RpcResult<void>> {
		return this.#upload((uploads) => uploads.putUpload(upload, content));
	}

	listUploads(query: UploadQuery): Promise<RpcResult<readonly Upload[]>> {
		return this.#upload((uploads) => uploads.listUploads(query));
	}

	readUploads(user: string | undefined, ids: readonly string[], most: number): Promise<RpcResult<UploadContent[]>> {
		return this.#upload((uploads) => uploads.readUploads(user, ids, most));
	}

	removeUploads(user: string | undefined, id?: string): Promise<RpcResult<number>> {
		return this.#upload((uploads) => uploads.removeUploads(user, id));
	}

	async removeEntry(kind: EntryKind, name: string): Promise<boolean> {
		return this.#registry.remove(kind, name);
	}

	#schedule<T>(ask: (scheduler: Scheduler) => Promise<RpcResult<T>>): Promise<RpcResult<T>> {
		return this.#scheduler === undefined ? refuse('schedules') : ask(this.#scheduler);
	}

	#upload<T>(ask: (uploads: Uploads) => Promise<RpcResult<T>>): Promise<RpcResult<T>> {
		return this.#uploads === undefined ? refuse('files') : ask(this.#uploads);
	}
}

async function refuse(plugin: PluginName): Promise<{ readonly ok: false; readonly error: Failure }> {
	return { ok: false, error: toFailure(createMissing(plugin)) };
}
