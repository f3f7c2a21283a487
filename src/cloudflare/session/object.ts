import type { CallAnswer } from '../../core/chat/call-answers.ts';
import type { Env } from '../../core/ground/env.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { Right } from '../auth/rights.ts';
import { DurableObject } from '../objects/durable-object.ts';
import type { FileDownload, FilePage, FilePageQuery, FileRequest, IfMatch, WrittenFile } from '../objects/file-api.ts';
import type { DecisionLinks, LinkedCall, LinkRequest } from '../objects/link-api.ts';
import type { Once } from '../objects/once.ts';
import type { ListedTool, OutsideCall } from '../objects/outside-call.ts';
import { type Bytes, type RpcResult, toJsonStream, toRpcResult } from '../objects/result.ts';
import type {
	Caller,
	ConversationUpdate,
	CreateInput,
	Handling,
	ImportOwner,
	Input,
	NewSession,
	NothingNew,
	PagePost,
	PageQuery,
	RunOutcome,
	RunStream,
	SessionApi,
	SessionChange,
	SessionState,
	TokenRequest,
} from '../objects/session-api.ts';
import { exportVersion } from '../wire/export.ts';
import type { Shown } from '../wire/operation.ts';
import type { Format, ProtocolContext } from '../wire/protocols/format.ts';
import type { RepeatableSession } from '../wire/session.ts';
import type { sessionToken } from '../wire/token.ts';
import { Access, type Pass, toAnswerRights, toReplyRights } from './inbox/access.ts';
import { type Decide, type Entry, Gate, type Standing } from './inbox/gate.ts';
import { Imports } from './inbox/import.ts';
import { Inbox } from './inbox/inbox.ts';
import { ObjectLife } from './inbox/life.ts';
import { type LinkConnector, type SessionLinks, takeLinks } from './inbox/link-connector.ts';
import { streamEvents, streamRun, toRunOutcome } from './inbox/outcome.ts';
import { OutsideDoor } from './inbox/outside.ts';
import type { RunnerOptions } from './run/prepare.ts';
import { Runner } from './run/runner.ts';
import { findPending } from './store/calls.ts';
import { SessionStore } from './store/store.ts';
import { type ExportForm, exportStream } from './ui/export.ts';
import { showMessages, showSession, showTasks, showWaiting, showWholeMessage } from './ui/show.ts';
import { findHead, uiMessages } from './ui/ui.ts';

const mayRead: readonly Right[] = ['readSession'];
const maySend: readonly Right[] = ['sendMessage'];
const mayManage: readonly Right[] = ['manageSession'];

/** What a session is made with. */
export type SessionOptions = Omit<RunnerOptions, 'store'> & { readonly links?: LinkConnector };

/**
 * The Durable Object of a session, a method an operation. Each lets its caller in, calls, and returns a value or a stream.
 * The `Gate` lets in what may begin a run, the `Inbox` knows what that does, the `Runner` runs it.
 */
export class Session extends DurableObject<Env> implements SessionApi {
	readonly #runtime: Runtime;
	readonly #config: SessionOptions['config'];
	readonly #store: SessionStore;
	readonly #runner: Runner;
	readonly #access: Access;
	readonly #gate: Gate;
	readonly #inbox: Inbox;
	readonly #outside: OutsideDoor;
	readonly #links: SessionLinks | undefined;
	readonly #imports: Imports;
	readonly #life: ObjectLife;

	constructor(ctx: DurableObjectState, env: Env, { runtime, config, links }: SessionOptions) {
		super(ctx, env);
		const id = ctx.id.toString();
		const store = new SessionStore(ctx.storage);
		const runner = new Runner({ runtime, store, config, links });
		const access = new Access(store, config);
		this.#runtime = runtime;
		this.#config = config;
		this.#store = store;
		this.#runner = runner;
		this.#access = access;
		this.#gate = new Gate({ id, store, runner, access, runtime, config });
		this.#inbox = new Inbox({ store, runner, agents: runtime.agents, config });
		this.#links = links?.open({ store, access, config, gate: this.#gate, inbox: this.#inbox });
		this.#outside = new OutsideDoor({ runtime, config, store, runner, access, gate: this.#gate, inbox: this.#inbox });
		this.#imports = new Imports({ id, store, runner, access, gate: this.#gate, runtime, config });
		this.#life = new ObjectLife({ store, runner, access });
	}

	create(create: CreateInput, how: Handling): Promise<RpcResult<RunOutcome>> {
		const { owner, by, role } = create;
		const entry = { caller: { owner, by, role }, rights: [], create, once: how.once };
		const decide = this.#inbox.create(create, how.once, () => this.#access.addFirstToken(by, create.for));
		return this.#life.answer(async () => {
			const taken = await this.#gate.take(entry, decide);
			const token = await this.#access.showFirstToken(by, create.for);
			return toRunOutcome(taken, how, { created: () => ({ ...this.#show(taken), ...token }) });
		});
	}

	state(caller: Caller): Promise<RpcResult<SessionState>> {
		return this.#life.answer(async () => {
			const pass = await this.#access.open(caller, mayRead);
			// A customer does not see what the owner's other sessions spend.
			const seesDay = 'owner' in caller && caller.role !== 'customer';
			const dayBudget = seesDay ? await this.#runner.owner.day() : undefined;
			const owner = 'owner' in caller && caller.isAdmin ? this.#store.session().owner : undefined;
			return { ...this.#show(pass), owner, dayBudget };
		});
	}

	status(caller: Caller): Promise<RpcResult<SessionState['status']>> {
		return this.#life.enter(caller, mayRead, () => this.#store.status);
	}

	change(caller: Caller, change: SessionChange): Promise<RpcResult<SessionState>> {
		return this.#life.answer(async () => {
			const pass = await this.#access.openForChange(caller);
			if (change.budget !== undefined) pass.assert('setBudget');
			this.#store.change(change, Date.now());
			if (change.title !== undefined) this.#runner.tellOwner();
			return this.#show(pass);
		});
	}

	token(caller: Caller, asked: TokenRequest): Promise<RpcResult<Shown<typeof sessionToken>>> {
		return this.#life.answer(async () => this.#access.makeToken(await this.#access.open(caller, mayManage), asked));
	}

	revokeToken(caller: Caller, id: string): Promise<RpcResult<void>> {
		return this.#life.answer(async () => {
			await this.#access.open(caller, mayManage);
			this.#access.revokeToken(id);
		});
	}

	messages(caller: Caller, page: PageQuery): Promise<RpcResult<Bytes>> {
		return this.#life.enter(caller, mayRead, () => toJsonStream(showMessages(this.#store, page)));
	}

	message(caller: Caller, seq: number): Promise<RpcResult<Bytes>> {
		return this.#life.enter(caller, mayRead, () => toJsonStream(showWholeMessage(this.#store, seq)));
	}

	tasks(caller: Caller): Promise<RpcResult<Bytes>> {
		return this.#life.enter(caller, mayRead, () => showTasks(this.#store, this.#runner.files).then(toJsonStream));
	}

	waiting(caller: Caller): Promise<RpcResult<Bytes>> {
		return this.#life.enter(caller, mayRead, () => toJsonStream(showWaiting(this.#store)));
	}

	removeWaiting(caller: Caller, id: string): Promise<RpcResult<void>> {
		return this.#life.enter(caller, maySend, () => this.#gate.removeWaiting(caller, id));
	}

	send(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>> {
		const entry = { caller, rights: maySend, create: input.create, asking: { input } };
		return this.#run(entry, this.#inbox.send(input, how.once), how);
	}

	answer(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>> {
		return this.#run({ caller, rights: toReplyRights }, this.#inbox.answer(input, how.once), how);
	}

	loggedIn(caller: Caller, server: string): Promise<RpcResult<void>> {
		return this.#life.answer(async () => {
			await this.#gate.take({ caller, rights: maySend }, this.#inbox.finishLogin(server));
		});
	}

	converse(caller: Caller, update: ConversationUpdate, how: Handling): Promise<RpcResult<RunOutcome>> {
		const entry = { caller, rights: maySend, create: update.create, asking: update };
		return this.#run(entry, this.#inbox.converse(update, how.once), how);
	}

	submit(caller: Caller, answers: readonly CallAnswer[], how: Handling): Promise<RpcResult<RunOutcome>> {
		const { prepare, decide } = this.#inbox.answers.submitAny(answers, how.once);
		return this.#run({ caller, rights: toAnswerRights(answers), prepare }, decide, how);
	}

	continue(caller: Caller, how: Handling, operation: 'continue' | 'step' = 'continue'): Promise<RpcResult<RunOutcome>> {
		return this.#run({ caller, rights: maySend, asking: {} }, this.#inbox.continue(operation, how.once), how);
	}

	events(caller: Caller, lastEventId: string | undefined, format?: Format): Promise<RpcResult<Bytes | undefined>> {
		return this.#life.enter(caller, mayRead, ({ lease, isOperator }) =>
			streamEvents(this.#store, this.#runner.live, lastEventId, { format, lease, isOperator, join: this.#gate.join }),
		);
	}

	post(caller: Caller, post: PagePost, { once }: Handling): Promise<RpcResult<RunStream | NothingNew>> {
		const { agent, input, answers = [] } = post;
		const toRights = (now: Standing) => toAnswerRights(now.findOpenAnswers(answers));
		return this.#life.answer(async () => {
			const rights = input === undefined ? toRights : maySend;
			const entry = { caller, agent, rights, create: input?.create, once, asking: post };
			const { run, lease, isOperator } = await this.#gate.take(entry, this.#inbox.post(post, once));
			if (run === undefined)
				return { kind: 'nothing', isWaiting: (findPending(this.#store).calls ?? []).length > 0 } as const;
			const format = { type: 'ui', isContinued: post.answers !== undefined } as const;
			return streamRun(run, format, { protocol: this.#pageContext(), lease, isOperator });
		});
	}

	resume(caller: Caller, agent: string): Promise<RpcResult<Bytes | undefined>> {
		const follow = (pass: Pass) =>
			this.#runner.live &&
			streamRun(this.#runner.live, { type: 'ui' }, { ...pass, protocol: this.#pageContext() }).stream;
		return this.#life.enter(caller, mayRead, follow, agent);
	}

	pageMessages(caller: Caller, agent: string): Promise<RpcResult<Bytes>> {
		const show = () => toJsonStream({ messages: uiMessages(this.#store) });
		return this.#life.enter(caller, mayRead, show, agent);
	}

	cancel(caller: Caller, once?: Once): Promise<RpcResult<RepeatableSession>> {
		return this.#life.enter({ ...caller, deadline: undefined }, maySend, (pass) =>
			this.#gate.cancel(caller, once).then((isReplay) => ({ ...this.#show(pass), isReplay })),
		);
	}

	export(caller: Caller, form: ExportForm, at?: number): Promise<RpcResult<Bytes>> {
		return toRpcResult(async () => {
			const pass = await this.#access.open(caller, mayManage);
			const { owner, expiresAfterMs, clientTools, createdBy, isImported } = this.#store.session();
			const stored = { createdBy, isImported };
			const about = { version: exportVersion, ...this.#show(pass), owner, expiresAfterMs, clientTools, stored };
			return exportStream({ store: this.#store, files: this.#runner.files, access: this.#access, about, form, at });
		});
	}

	import(owner: ImportOwner, lines: Bytes): Promise<RpcResult<NewSession>> {
		return this.#life.answer(async () => {
			await this.#imports.take(owner, lines);
			return { ...this.#show(), ...(await this.#access.showFirstToken(owner.by)) };
		});
	}

	files(caller: Caller, page: FilePageQuery): Promise<RpcResult<FilePage>> {
		return this.#life.enter(caller, mayRead, () => this.#runner.files.list(page));
	}

	readFile(caller: Caller, path: string, request: FileRequest): Promise<RpcResult<FileDownload>> {
		return this.#life.enter(caller, mayRead, () => this.#runner.files.read(path, request));
	}

	writeFile(caller: Caller, path: string, body: Bytes, condition: IfMatch): Promise<RpcResult<WrittenFile>> {
		return this.#life.change(caller, maySend, () => this.#runner.writeFile(path, body, condition));
	}

	removeFile(caller: Caller, path: string, condition: IfMatch): Promise<RpcResult<void>> {
		return this.#life.change(caller, maySend, () => this.#runner.removeFile(path, condition));
	}

	changes(caller: Caller, page: FilePageQuery): Promise<RpcResult<Bytes>> {
		return this.#life.enter(caller, mayRead, async () => toJsonStream(await this.#runner.files.listChanges(page)));
	}

	links(caller: Caller, asked: LinkRequest): Promise<RpcResult<DecisionLinks>> {
		return this.#life.answer(() => takeLinks(this.#links).make(caller, asked));
	}

	followLink(link: string, how: 'show' | 'decide'): Promise<RpcResult<LinkedCall>> {
		return this.#life.answer(() => takeLinks(this.#links)[how](link));
	}

	tools(caller: Caller, agent: string, create?: CreateInput): Promise<RpcResult<readonly ListedTool[]>> {
		return this.#life.answer(() => this.#outside.list(caller, agent, create));
	}

	callTool(caller: Caller, call: OutsideCall, create?: CreateInput): Promise<RpcResult<Bytes>> {
		return this.#life.answer(() => this.#outside.begin(caller, call, create));
	}

	delete(caller: Caller): Promise<RpcResult<void>> {
		return this.#life.answer(() => this.#access.openForChange(caller).then(() => this.#life.remove()));
	}

	override alarm(): Promise<void> {
		return this.#life.handleAlarm();
	}

	#run(entry: Omit<Entry, 'once'>, decide: Decide, how: Handling): Promise<RpcResult<RunOutcome>> {
		return this.#life.answer(async () => {
			const taken = await this.#gate.take({ ...entry, once: how.once }, decide);
			return toRunOutcome(taken, how, { session: () => this.#show(taken) });
		});
	}

	#pageContext(): ProtocolContext {
		return { uiHead: (run, isContinued) => findHead(this.#store, run, isContinued) };
	}

	/** The session as its routes show it to somebody. */
	#show({ isOperator }: Pick<Pass, 'isOperator'> = { isOperator: false }): SessionState {
		return showSession(this.#store, { runner: this.#runner, runtime: this.#runtime, config: this.#config, isOperator });
	}
}
