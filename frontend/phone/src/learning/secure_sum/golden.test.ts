import { expect, test } from "vitest";
import { goldenJson } from "../../testing/golden";
import { fromBase64, sameBytes } from "../../wire/bytes";
import type { CodedError } from "../../wire/errors";
import { checked } from "../../wire/messages";
import { type Box, boxArray, type Member, memberArray, SumNews, shareArray } from "../../wire/secure_sum";
import { readTensors, type Tensors } from "../../wire/tensors";
import { type Contents, partsOf, vectorOf } from "../contribution";
import { WHOLE } from "../local/interface";
import { parseDevicePlan } from "../plan";
import type { Masking, Terms } from "../privacy/masking";
import { graphOf, neighboursOf } from "./graph";
import { checkLogged, EMPTY, nextHead } from "./identities";
import { addMask, commitment, isKey, pairSeed, publicKey, seal, unseal, type Words } from "./masks";
import { checkMember, memberList, placeOf } from "./members";
import { entry, join, mask, type PartyState, reveal, share } from "./party";
import { PRIME, sharesOf, split } from "./shamir";
import { encodeVector, pack, type Vector } from "./vector";

const VECTORS = goldenJson("secure_sum.json");
const NEWS = { session: VECTORS.sum.session, to_do: "mask", members: VECTORS.sum.members, boxes: VECTORS.sum.boxes };
const { members: MEMBERS, boxes: BOXES } = checked(SumNews, NEWS, "wire.malformed", "news");
const TERMS: Terms = VECTORS.sum.terms;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const same = (found: Uint8Array, text: string): void => expect(hex(found)).toBe(hex(fromBase64(text)));

function code(fails: () => unknown): string {
  try {
    fails();
  } catch (error) {
    return (error as CodedError).code;
  }
  return "no error";
}

test("masks, keys and boxes are those of Python", () => {
  const { masks } = VECTORS;
  const [secret, other, digest] = [masks.secret, masks.other, masks.digest].map(fromBase64) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  same(publicKey(secret), masks.public);
  same(commitment(secret), masks.commitment);
  same(pairSeed(secret, other, digest), masks.pair_seed);
  const content = Uint8Array.from({ length: 66 }, (_, at) => at);
  same(seal(content, secret, other, digest), masks.box);
  expect(code(() => unseal(fromBase64(masks.box), secret, other, digest))).toBe("secure_sum.wrong_box"); // not for it
  for (const { bits, subtract, numbers } of masks.added) {
    const count = 2 ** 16 + 4;
    const from = <T>(one: T): T => one;
    const added: Words =
      bits === 64
        ? BigUint64Array.from({ length: count }, (_, at) => BigInt(at))
        : bits === 16
          ? Uint16Array.from({ length: count }, (_, at) => from(at))
          : Uint32Array.from({ length: count }, (_, at) => from(at));
    addMask(added, secret, "numbers", subtract);
    expect([...added.slice(-8)].map(String)).toEqual(numbers);
  }
  for (const { public: known, is_key } of masks.keys) expect(isKey(fromBase64(known))).toBe(is_key);
  expect(code(() => pairSeed(secret, new Uint8Array(32), digest))).toBe("secure_sum.wrong_key");
});

test("shares are those of Python, and a threshold of them gives the secret", () => {
  const { polynomial, points, shares } = VECTORS.shares;
  const found = sharesOf(polynomial.map(BigInt), points);
  for (const [at, one] of found.entries()) same(one, shares[at]);
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const drawn = split(secret, 3, [1, 2, 3, 4]).map((one) => BigInt(`0x${hex(one)}`));
  expect(joined(new Map([2, 3, 4].map((point) => [BigInt(point), drawn[point - 1] as bigint])))).toBe(
    BigInt(`0x${hex(secret)}`),
  );
  expect(joined(new Map([1, 2].map((point) => [BigInt(point), drawn[point - 1] as bigint])))).not.toBe(
    BigInt(`0x${hex(secret)}`),
  );
});

/** The value at 0 of the polynomial of least degree through these points. */
function joined(shares: ReadonlyMap<bigint, bigint>): bigint {
  const inverse = (number: bigint): bigint => {
    let [power, found, rest] = [((number % PRIME) + PRIME) % PRIME, 1n, PRIME - 2n];
    for (; rest > 0n; rest >>= 1n) {
      if (rest & 1n) found = (found * power) % PRIME;
      power = (power * power) % PRIME;
    }
    return found;
  };
  let sum = 0n;
  for (const [point, value] of shares) {
    let weight = value;
    for (const other of shares.keys()) {
      if (other !== point) weight = (((weight * other) % PRIME) * inverse(other - point)) % PRIME;
    }
    sum += weight;
  }
  return ((sum % PRIME) + PRIME) % PRIME;
}

test("neighbourhoods are those of Python", () => {
  for (const { terms, members, graph, detail } of VECTORS.graphs) {
    if (graph !== null) expect(graphOf(terms, members)).toEqual(graph);
    else expect(() => graphOf(terms, members)).toThrow(detail);
  }
  for (const { member, members, neighbours, seed, found } of VECTORS.rings) {
    expect(neighboursOf(member, members, neighbours, BigInt(seed))).toEqual(found);
  }
});

test("the log of identities has the heads of Python, and who is not in it is refused", () => {
  const entries: [string, Uint8Array][] = VECTORS.log.entries.map(([device, key]: [string, string]) => [
    device,
    fromBase64(key),
  ]);
  let head: Uint8Array = EMPTY;
  same(head, VECTORS.log.heads[0]);
  for (const [at, [device, identity]] of entries.entries()) {
    head = nextHead(head, { device, identity });
    same(head, VECTORS.log.heads[at + 1]);
  }
  const keys = new Map<string, Uint8Array>(MEMBERS.map(({ device, identity }) => [device, identity]));
  checkLogged(MEMBERS, keys);
  keys.set("device-2", new Uint8Array(32));
  expect(code(() => checkLogged(MEMBERS, keys))).toBe("secure_sum.unknown_identity");
});

// biome-ignore lint/suspicious/noExplicitAny: of the written JSON
test.each(VECTORS.contributions as any[])(
  "under $plan.privacy and $plan.local what a device adds is that of Python, bit for bit",
  (one) => {
    const { masking } = parseDevicePlan(one.plan).privacy;
    const contents: Contents = {
      model: one.model,
      scope: WHOLE,
      masking: masking as Masking,
      members: one.members,
      seed: one.round,
    };
    const { samples, loss_before, loss_after, accuracy_before } = one.measured;
    const vector = vectorOf(
      contents,
      partsOf(fromBase64(one.payload), one.model),
      { samples, lossBefore: loss_before, lossAfter: loss_after, accuracyBefore: accuracy_before },
      readTensors(fromBase64(one.base)).tensors as Tensors,
      { seed: one.seed, key: BigInt(one.key) },
    );
    same(pack(vector.numbers, vector.bits), one.packed);
    expect([...vector.tail].map(String)).toEqual(one.tail);
  },
);

function stateOf(): PartyState {
  const { session, state, identity } = VECTORS.sum;
  const found = memberList(session, MEMBERS, EMPTY);
  const [maskKey, channelKey, seed] = [state.mask_key, state.channel_key, state.seed].map(fromBase64) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const drawn = { session, device: state.device, maskKey, channelKey, seed };
  const own = MEMBERS.find(({ device }) => device === state.device) as Member;
  const begun: PartyState = { ...drawn, identity: own.identity, found: null, sent: [], received: [], answered: null };
  expect(memberArray(entry(begun, fromBase64(identity)))).toEqual(memberArray(own));
  return share(begun, found, TERMS);
}

const VECTOR: Vector = {
  bits: VECTORS.sum.bits,
  numbers: Uint16Array.from(VECTORS.sum.numbers),
  tail: BigUint64Array.from(VECTORS.sum.tail.map(BigInt)),
};

test("list, masked vector and revealed shares are those of Python, bit for bit", () => {
  const state = stateOf();
  const { digest } = state.found as { digest: Uint8Array };
  same(digest, VECTORS.sum.digest);
  expect(state.sent.map(({ to }) => to)).toEqual([0, 2, 3]);
  const done = mask(state, BOXES, VECTOR, TERMS);
  same(encodeVector(done.vector, digest), VECTORS.sum.masked);
  const revealed = reveal(done.state, VECTORS.sum.survivors, TERMS);
  expect(revealed.shares.map(shareArray)).toEqual(VECTORS.sum.shares);
  expect(reveal(revealed.state, VECTORS.sum.survivors, TERMS).shares).toEqual(revealed.shares);
});

test("a device refuses what would tell more than the plan promises", () => {
  const state = stateOf();
  const { found } = state as { found: NonNullable<PartyState["found"]> };
  const masked = mask(state, BOXES, VECTOR, TERMS).state;
  const other = memberList(found.session, MEMBERS, new Uint8Array(32));
  expect(code(() => share(state, other, TERMS))).toBe("secure_sum.wrong_list");
  expect(share(state, found, TERMS)).toBe(state);
  const begun = { ...state, found: null };
  expect(code(() => share(begun, found, { ...TERMS, fewest: 5 }))).toBe("secure_sum.too_few");
  expect(code(() => share({ ...begun, seed: new Uint8Array(32) }, found, TERMS))).toBe("secure_sum.wrong_list");
  const left = MEMBERS.filter(({ device }) => device !== state.device);
  expect(code(() => share(begun, memberList(found.session, left, EMPTY), TERMS))).toBe("secure_sum.wrong_list");
  expect(code(() => placeOf(found, "nobody"))).toBe("secure_sum.wrong_list");
  expect(code(() => mask(masked, BOXES, VECTOR, TERMS))).toBe("secure_sum.out_of_order");
  expect(code(() => mask(begun, BOXES, VECTOR, TERMS))).toBe("secure_sum.out_of_order");
  expect(code(() => mask(state, [...BOXES, BOXES[0] as Box], VECTOR, TERMS))).toBe("secure_sum.wrong_box");
  const spoilt = BOXES.map(({ sender, to }) => ({ sender, to, content: new Uint8Array(82) }));
  expect(code(() => mask(state, spoilt, VECTOR, TERMS))).toBe("secure_sum.too_few_shared");
  expect(code(() => reveal(state, [0, 1, 3], TERMS))).toBe("secure_sum.out_of_order");
  for (const wrong of [
    [0, 2, 3],
    [1, 0, 3],
    [0, 1, 1, 3],
    [0, 1, 9],
  ]) {
    expect(code(() => reveal(masked, wrong, TERMS))).toBe("secure_sum.wrong_survivors");
  }
  expect(code(() => reveal(masked, [0, 1], TERMS))).toBe("secure_sum.too_few");
  const answered = reveal(masked, [0, 1, 3], TERMS).state;
  expect(code(() => reveal(answered, [0, 1, 2, 3], TERMS))).toBe("secure_sum.wrong_survivors");
});

test("a list with a member twice, a wrong signature or a key of no use is refused", () => {
  const [first, second] = MEMBERS as [Member, Member];
  const { session } = VECTORS.sum;
  expect(code(() => checkMember(session, first))).toBe("no error");
  expect(code(() => memberList(session, [first, { ...second, device: first.device }], EMPTY))).toBe(
    "secure_sum.wrong_list",
  );
  expect(code(() => checkMember(session, { ...first, channel: second.channel }))).toBe("secure_sum.wrong_signature");
  expect(code(() => checkMember("another", first))).toBe("secure_sum.wrong_signature");
  expect(code(() => checkMember(session, { ...first, identity: new Uint8Array(32) }))).toBe(
    "secure_sum.wrong_signature",
  );
  expect(code(() => checkMember(session, { ...first, mask: new Uint8Array(32) }))).toBe("secure_sum.wrong_key");
});

test("masks cancel in a sum of phones alone", () => {
  const secrets = [0, 1, 2, 3].map(() => crypto.getRandomValues(new Uint8Array(32)));
  const identityOf = (at: number): Uint8Array => {
    const drawn = join("s", `phone-${at}`, new Uint8Array(32));
    return entry(drawn, secrets[at] as Uint8Array).identity;
  };
  const begun = secrets.map((_, at) => join("s", `phone-${at}`, identityOf(at)));
  const found = memberList(
    "s",
    begun.map((state, at) => entry(state, secrets[at] as Uint8Array)),
    EMPTY,
  );
  const shared = begun.map((state) => share(state, found, TERMS));
  const boxes = shared.flatMap(({ sent }) => sent).map(boxArray);
  const sum: Vector = { bits: 16, numbers: new Uint16Array(4), tail: new BigUint64Array(1) };
  const add = (from: Vector): void => {
    for (const [at, one] of from.numbers.entries()) sum.numbers[at] = (sum.numbers[at] as number) + one;
    sum.tail[0] = (sum.tail[0] as bigint) + (from.tail[0] as bigint);
  };
  for (const state of shared) {
    const place = placeOf(found, state.device);
    const news = { session: "s", to_do: "mask", boxes: boxes.filter(([, to]) => to === place) };
    const vector = { bits: 16, numbers: Uint16Array.of(1, 2, 65535, place), tail: BigUint64Array.of(5n) };
    const done = mask(state, checked(SumNews, news, "wire.malformed", "news").boxes, vector, TERMS).vector;
    expect(sameBytes(new Uint8Array(done.numbers.buffer), new Uint8Array(vector.numbers.buffer))).toBe(false);
    addMask(done.numbers, state.seed, "numbers", true);
    addMask(done.tail, state.seed, "tail", true);
    add(done);
  }
  expect([...sum.numbers]).toEqual([4, 8, 65532, 6]);
  expect(sum.tail[0]).toBe(20n);
});
