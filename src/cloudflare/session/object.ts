import type { Env } from '../../core/base/env.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import { assertMay, type Right } from '../auth/rights.ts';
import type { FileDownload, FilePage, FilePageQuery, FileRequest, IfMatch, WrittenFile } from '../objects/file-api.ts';
import type { DecisionLinks, LinkedCall, LinkRequest } from '../objects/link-api.ts';
import type { Once } from '../objects/once.ts';
import type { ListedTool, OutsideCall } from '../objects/outside-call.ts';
import { DurableObject } from '../objects/platform.ts';
import { type Bytes, createBusy, type RpcResult, takeValue, toJsonStream, toRpcResult } from '../objects/reach.ts';
import type {
	ArrivedPart,
	Caller,
	ConversationUpdate,
	CreateInput,
	FoundRequest,
	FoundRun,
	Handling,
	ImportOwner,
	ImportPart,
	Input,
	NewSession,
	NothingNew,
	PagePost,
	PageQuery,
	PassedReader,
	ReceiverChange,
	RunOutcome,
	RunStream,
	SessionApi,
	SessionBrief,
	SessionChange,
	SessionPlace,
	SessionState,
	TokenHolder,
	TokenRequest,
} from '../objects/session-api.ts';
import { exportVersion } from '../wire/export.ts';
import type { feedback } from '../wire/feedback.ts';
import type { Shown } from '../wire/operation.ts';
import type { PushConfig } from '../wire/protocols/a2a/params.ts';
import type { Format, ProtocolContext } from '../wire/protocols/format.ts';
import type { RepeatableSession } from '../wire/session.ts';
import type { sessionToken } from '../wire/token.ts';
import { nameLive, Relay, writeFeed } from './events/relay.ts';
import { submitAnswers } from './inbox/answers.ts';
import { Imports } from './inbox/import.ts';
import { Inbox, Lifecycle, type Request, type StoreRequest } from './inbox/inbox.ts';
import { type LinkConnector, type SessionLinks, takeLinks } from './inbox/link-connector.ts';
import {
	answerQuestion,
	continueRun,
	converse,
	createSession,
	finishLogin,
	sendMessage,
	storePost,
	streamEvents,
	streamRun,
	toRunOutcome,
} from './inbox/messages.ts';
import { callTool, listTools } from './inbox/outside.ts';
import { type PushConnector, takePush } from './inbox/push-connector.ts';
import {
	Authorization,
	type InboxContext,
	type InboxTransaction,
	type Principal,
	toAnswerRights,
} from './inbox/transaction.ts';
import { readBudgetState } from './run/budgets.ts';
import type { RunnerOptions } from './run/prepare.ts';
import { Runner } from './run/runner.ts';
import { findPending } from './store/calls.ts';
import type { Rating } from './store/runs.ts';
import { nameDirectory, noSuchSession } from './store/session-row.ts';
import { SessionStore } from './store/store.ts';
import { type ExportForm, exportStream } from './ui/export.ts';
import {
	showCleared,
	showFeedback,
	showMessages,
	showRequest,
	showRun,
	showRuns,
	showSession,
	showTasks,
	showWaiting,
	showWholeMessage,
} from './ui/show.ts';
import { type TraceForm, traceStream } from './ui/trace.ts';
import { findHead, uiMessages } from './ui/ui.ts';

const mayRead: readonly Right[] = ['readSession'];
const maySend: readonly Right[] = ['sendMessage'];
const mayDecide: readonly Right[] = ['decide'];
const mayManage: readonly Right[] = ['manageSession'];

export type SessionOptions = Omit<RunnerOptions, 'store'> & {
	readonly links?: LinkConnector;
	readonly push?: PushConnector;
};

/**
 * The Durable Object of a session, with a method for each operation. The `Inbox` handles requests that may begin a run;
 * the `Runner` carries out the run.
 */
export class Session extends DurableObject<Env> implements SessionApi {
	readonly #context: InboxContext;
	readonly #store: SessionStore;
	readonly #runner: Runner;
	readonly #authorization: Authorization;
	readonly #inbox: Inbox;
	readonly #links: SessionLinks | undefined;
	readonly #push: PushConnector | undefined;
	readonly #imports: Imports;
	readonly #lifecycle: Lifecycle;
	readonly #relay: Relay;

	constructor(ctx: DurableObjectState, env: Env, { runtime, config, links, traces, push }: SessionOptions) {
		super(ctx, env);
		const store = new SessionStore(ctx.storage);
		const runner = new Runner({ runtime, store, config, links, traces, push });
		const authorization = new Authorization(store, config);
		this.#context = { id: ctx.id.toString(), store, runner, authorization, runtime, config };
		this.#store = store;
		this.#runner = runner;
		this.#authorization = authorization;
		this.#inbox = new Inbox(this.#context);
		this.#push = push;
		this.#links = links?.open({ ...this.#context, inbox: this.#inbox });
		this.#imports = new Imports({ ...this.#context, inbox: this.#inbox });
		this.#lifecycle = new Lifecycle({ ...this.#context, imports: this.#imports });
		this.#relay = new Relay(config);
	}

	create(create: CreateInput, how: Handling): Promise<RpcResult<RunOutcome>> {
		const { owner, by, role } = create;
		const { once, origin } = how;
		const request = { caller: { owner, by, role }, rights: [], create, once, origin };
		return this.#lifecycle.answer(async () => {
			const accepted = await this.#inbox.take(request, (tx) => createSession(tx, create));
			const token = await this.#authorization.tokens.showFirst(by, create.for);
			return toRunOutcome(accepted, how, { created: () => ({ ...this.#show(accepted), ...token }) });
		});
	}

	state(caller: Caller): Promise<RpcResult<SessionState>> {
		return this.#lifecycle.answer(async () => {
			const principal = await this.#authorization.open(caller, mayRead);
			// A customer sees neither the spending of the owner's other sessions nor the names of colleagues.
			const isStaff = 'owner' in caller && caller.role !== 'customer';
			const dayBudget = isStaff ? await this.#runner.owner.day() : undefined;
			const cleared = isStaff ? showCleared(this.#store) : undefined;
			const owner = 'owner' in caller && caller.isAdmin ? this.#store.session().owner : undefined;
			return { ...this.#show(principal), labels: [...this.#runner.labels.all], cleared, owner, dayBudget };
		});
	}

	brief(caller: Caller, withRuns = false): Promise<RpcResult<SessionBrief>> {
		return toRpcResult(async () => {
			// A list asks many sessions, and restores none of them.
			const archived = this.#store.archive.find();
			if (archived === undefined || 'token' in caller)
				return takeValue(
					await this.#lifecycle.enter(caller, mayRead, () => ({
						status: this.#store.status,
						spent: readBudgetState(this.#store, {}).spent,
						...(withRuns && { runs: showRuns(this.#store) }),
					})),
				);
			assertMay(this.#authorization.findPrincipal(caller, archived), 'readSession');
			return { status: archived.status };
		});
	}

	holder(caller: Caller): Promise<RpcResult<TokenHolder>> {
		return this.#lifecycle.enter(caller, [], ({ by, scopes }) => {
			if (by === undefined || scopes === undefined) throw noSuchSession();
			return { by, scopes };
		});
	}

	place(caller: Caller): Promise<RpcResult<SessionPlace>> {
		return this.#lifecycle.enter(caller, mayRead, () => {
			const session = this.#store.session();
			return { directory: nameDirectory(session), user: session.user, parent: session.parent?.id };
		});
	}

	change(caller: Caller, change: SessionChange): Promise<RpcResult<SessionState>> {
		return this.#lifecycle.answer(async () => {
			const principal = await this.#authorization.openForChange(caller);
			if (change.budget !== undefined) assertMay(principal, 'setBudget');
			if (change.clearLabels !== undefined) this.#inbox.clearLabels(change.clearLabels, principal);
			this.#store.change(change, Date.now());
			if (change.title !== undefined) this.#runner.tellOwner();
			return this.#show(principal);
		});
	}

	findRequest(caller: Caller, requestId: string): Promise<RpcResult<FoundRequest>> {
		return this.#lifecycle.enter(caller, mayManage, ({ isOperator }) =>
			showRequest(this.#store, requestId, { isOperator }),
		);
	}

	token(caller: Caller, asked: TokenRequest): Promise<RpcResult<Shown<typeof sessionToken>>> {
		const { tokens } = this.#authorization;
		return this.#lifecycle.answer(async () => tokens.make(await this.#authorization.open(caller, mayManage), asked));
	}

	revokeToken(caller: Caller, id: string): Promise<RpcResult<void>> {
		return this.#lifecycle.enter(caller, mayManage, () => {
			this.#authorization.tokens.revoke(id);
			// A relay gets the revocation as the next line of its feed.
			this.#runner.live?.log.wake();
		});
	}

	messages(caller: Caller, page: PageQuery): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.enter(caller, mayRead, () =>
			toJsonStream(showMessages(this.#store, page, this.#runner.labels.words)),
		);
	}

	message(caller: Caller, seq: number): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.enter(caller, mayRead, () =>
			toJsonStream(showWholeMessage(this.#store, seq, this.#runner.labels.words)),
		);
	}

	tasks(caller: Caller): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.enter(caller, mayRead, () => showTasks(this.#store, this.#runner.files).then(toJsonStream));
	}

	waiting(caller: Caller): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.enter(caller, mayRead, () => toJsonStream(showWaiting(this.#store)));
	}

	removeWaiting(caller: Caller, id: string): Promise<RpcResult<void>> {
		return this.#lifecycle.change(caller, maySend, () => this.#runner.removeWaiting(id));
	}

	send(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>> {
		const request = { caller, rights: maySend, create: input.create, asking: { input } };
		return this.#take(request, how, (tx) => sendMessage(tx, input));
	}

	answer(caller: Caller, input: Input, how: Handling): Promise<RpcResult<RunOutcome>> {
		// A decision about the call of a child needs `decide` instead of `sendMessage`.
		const rights = (tx: InboxTransaction) => (tx.askedCall === undefined ? maySend : mayDecide);
		return this.#take({ caller, rights }, how, (tx) => answerQuestion(tx, input));
	}

	loggedIn(caller: Caller, server: string): Promise<RpcResult<void>> {
		return this.#lifecycle.answer(async () => {
			await this.#inbox.take({ caller, rights: maySend }, (tx) => finishLogin(tx, server));
		});
	}

	converse(caller: Caller, update: ConversationUpdate, how: Handling): Promise<RpcResult<RunOutcome>> {
		const { answers, create } = update;
		const rights = answers === undefined ? maySend : toAnswerRights(answers);
		return this.#take({ caller, rights, create, asking: update, answers }, how, (tx) => converse(tx, update));
	}

	submit(caller: Caller, answers: readonly CallAnswer[], how: Handling): Promise<RpcResult<RunOutcome>> {
		return this.#take({ caller, rights: toAnswerRights(answers), answers }, how, (tx) => submitAnswers(tx, answers));
	}

	continue(caller: Caller, how: Handling, operation: 'continue' | 'step' = 'continue'): Promise<RpcResult<RunOutcome>> {
		return this.#take({ caller, rights: maySend, asking: {} }, how, (tx) => continueRun(tx, operation));
	}

	events(caller: Caller, lastEventId: string | undefined, format: Format): Promise<RpcResult<Bytes | undefined>>;
	events(
		caller: Caller,
		lastEventId: string | undefined,
		format?: Format,
		turnOf?: number,
	): Promise<RpcResult<Bytes | PassedReader | undefined>>;
	events(caller: Caller, lastEventId: string | undefined, format?: Format, turnOf?: number) {
		return this.#lifecycle.enter(caller, mayRead, ({ lease, isOperator }) => {
			const { live, boot } = this.#runner;
			const { join } = this.#inbox;
			return streamEvents(this.#store, live, lastEventId, { format, turnOf, lease, isOperator, join, boot });
		});
	}

	relay(passed: PassedReader): Promise<RpcResult<Bytes>> {
		return toRpcResult(async () => this.#relay.follow(passed));
	}

	feed({ owner, live: passed }: PassedReader): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.enter({ owner }, mayRead, () => {
			const { live, boot } = this.#runner;
			if (live === undefined || passed !== nameLive(boot, live.log.run)) throw createBusy('This session');
			return writeFeed(live.log, this.#authorization.tokens.revocations);
		});
	}

	post(
		caller: Caller,
		post: PagePost,
		{ once, origin, format: asked }: Handling,
	): Promise<RpcResult<RunStream | NothingNew>> {
		const { agent, input, answers = [] } = post;
		const toRights = (tx: InboxTransaction) => toAnswerRights(tx.findOpenAnswers(answers));
		return this.#lifecycle.answer(async () => {
			const rights = input === undefined ? toRights : maySend;
			const request = { caller, agent, rights, create: input?.create, once, origin, asking: post, answers };
			const { run, lease, isOperator } = await this.#inbox.take(request, (tx) => storePost(tx, post));
			if (run === undefined)
				return { kind: 'nothing', isWaiting: (findPending(this.#store).calls ?? []).length > 0 } as const;
			const format = asked ?? { type: 'ui', isContinued: post.answers !== undefined };
			return streamRun(run, format, { protocol: this.#pageContext(), lease, isOperator });
		});
	}

	resume(caller: Caller, agent: string): Promise<RpcResult<Bytes | PassedReader | undefined>> {
		const follow = ({ lease, isOperator }: Principal) => {
			const { live, boot } = this.#runner;
			const how = { format: { type: 'ui' }, lease, isOperator, protocol: this.#pageContext(), boot } as const;
			return live && streamEvents(this.#store, live, undefined, how);
		};
		return this.#lifecycle.enter(caller, mayRead, follow, agent);
	}

	pageMessages(caller: Caller, agent: string): Promise<RpcResult<Bytes>> {
		const show = () => toJsonStream({ messages: uiMessages(this.#store) });
		return this.#lifecycle.enter(caller, mayRead, show, agent);
	}

	rate(caller: Caller, runId: string, rating?: Rating): Promise<RpcResult<Shown<typeof feedback> | undefined>> {
		return this.#lifecycle.change(caller, mayRead, () => {
			const stored = this.#store.rate(runId, rating, Date.now());
			this.#runner.tellOwner();
			return showFeedback(stored);
		});
	}

	cancel(caller: Caller, once?: Once): Promise<RpcResult<RepeatableSession>> {
		return this.#lifecycle.enter({ ...caller, deadline: undefined }, maySend, (principal) =>
			this.#inbox.cancel(caller, once).then((isReplay) => ({ ...this.#show(principal), isReplay })),
		);
	}

	export(caller: Caller, form: ExportForm, at?: number, cursor?: string): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.answer(async () => {
			const principal = await this.#authorization.open(caller, mayManage);
			const session = this.#store.session();
			const { owner, expiresAfterMs, clientTools, createdBy, isImported } = session;
			const stored = { createdBy, isImported };
			const { store, authorization, config } = this.#context;
			const jurisdiction = config().findJurisdiction(session);
			const whose = { owner, jurisdiction, expiresAfterMs, clientTools, stored };
			const about = { version: exportVersion, ...this.#show(principal), ...whose };
			return exportStream({ store, files: this.#runner.files, authorization, about, form, at, cursor });
		});
	}

	exportTrace(caller: Caller, form: TraceForm): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.answer(async () => {
			await this.#authorization.open(caller, mayManage);
			const { store, authorization } = this.#context;
			return traceStream({ ...form, store, authorization, words: this.#runner.labels.words });
		});
	}

	findRun(caller: Caller, n: number, right: Right, once?: Once): Promise<RpcResult<FoundRun>> {
		return this.#lifecycle.enter(caller, [right], () => ({
			...showRun(this.#store, n),
			isRepeated: this.#inbox.findReplay(once) !== undefined,
		}));
	}

	receivers(caller: Caller, run: number, change?: ReceiverChange): Promise<RpcResult<readonly PushConfig[]>> {
		return this.#lifecycle.answer(() => takePush(this.#push).change(this.#context, caller, { run, change }));
	}

	findRunMessage(caller: Caller, runId: string): Promise<RpcResult<number>> {
		return this.#lifecycle.enter(caller, mayManage, () => this.#store.findRunMessage(runId));
	}

	import(owner: ImportOwner, lines?: Bytes, part?: ImportPart): Promise<RpcResult<NewSession | ArrivedPart>> {
		return this.#lifecycle.answer(async () => {
			const offset = await this.#imports.take(owner, lines, part);
			if (offset !== undefined) return { offset };
			return { ...this.#show(), ...(await this.#authorization.tokens.showFirst(owner.by)) };
		});
	}

	files(caller: Caller, page: FilePageQuery): Promise<RpcResult<FilePage>> {
		return this.#lifecycle.enter(caller, mayRead, () => this.#runner.files.list(page));
	}

	readFile(caller: Caller, path: string, request: FileRequest): Promise<RpcResult<FileDownload>> {
		return this.#lifecycle.enter(caller, mayRead, () => this.#runner.files.read(path, request));
	}

	writeFile(caller: Caller, path: string, body: Bytes, condition: IfMatch): Promise<RpcResult<WrittenFile>> {
		return this.#lifecycle.change(caller, maySend, () => this.#runner.writeFile(path, body, condition));
	}

	removeFile(caller: Caller, path: string, condition: IfMatch): Promise<RpcResult<void>> {
		return this.#lifecycle.change(caller, maySend, () => this.#runner.removeFile(path, condition));
	}

	changes(caller: Caller, page: FilePageQuery): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.enter(caller, mayRead, async () => toJsonStream(await this.#runner.files.listChanges(page)));
	}

	links(caller: Caller, asked: LinkRequest): Promise<RpcResult<DecisionLinks>> {
		return this.#lifecycle.answer(() => takeLinks(this.#links).make(caller, asked));
	}

	followLink(link: string, how: 'show' | 'decide'): Promise<RpcResult<LinkedCall>> {
		return this.#lifecycle.answer(() => takeLinks(this.#links)[how](link));
	}

	tools(caller: Caller, agent: string, create?: CreateInput): Promise<RpcResult<readonly ListedTool[]>> {
		return this.#lifecycle.answer(() => listTools(this.#context, this.#inbox, { caller, agent, create }));
	}

	callTool(caller: Caller, call: OutsideCall, create?: CreateInput): Promise<RpcResult<Bytes>> {
		return this.#lifecycle.answer(() => callTool(this.#context, this.#inbox, { caller, call, create }));
	}

	delete(caller: Caller): Promise<RpcResult<void>> {
		return this.#lifecycle.answer(() => this.#authorization.openForChange(caller).then(() => this.#lifecycle.remove()));
	}

	override alarm(): Promise<void> {
		return this.#lifecycle.handleAlarm();
	}

	#take(request: Omit<Request, 'once' | 'origin'>, how: Handling, store: StoreRequest): Promise<RpcResult<RunOutcome>> {
		return this.#lifecycle.answer(async () => {
			const accepted = await this.#inbox.take({ ...request, once: how.once, origin: how.origin }, store);
			return toRunOutcome(accepted, how, { session: () => this.#show(accepted) });
		});
	}

	#pageContext(): ProtocolContext {
		return { uiHead: (run, isContinued) => findHead(this.#store, run, isContinued) };
	}

	#show({ isOperator }: Pick<Principal, 'isOperator'> = { isOperator: false }): SessionState {
		return showSession(this.#store, { ...this.#context, isOperator });
	}
}
