# SPDX-License-Identifier: BSD-2-Clause
"""The situations: their labels, and their captures as directories. Needs PyYAML, tar and zstd; nothing of memstatd."""
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml

VERSION = 1  # of the labels and captures
HERE = pathlib.Path(__file__).resolve().parent
BASES = next(path for path in (HERE / 'captures', HERE.parent / 'fixtures/captures') if path.is_dir() or path.parent.name == 'fixtures')
PROVOKED = HERE / 'provoked'
PUBLIC = HERE / 'public'
LABELS = ('problems.yaml', 'calm.yaml', *(f'{kind}-{one}.yaml' for one in 'cdefgh' for kind in ('problems', 'calm')))
HALVES_OF = collections.defaultdict(lambda: 'AB', {f'{one}.yaml': one.upper() for one in 'cdefgh'})
KERNELS = ('6.1', '6.12', 'newest')
EDITED = 'edited'
POLL = re.compile(r'^\d{6}$')
SUFFIX = '.tar.zst'


@dataclasses.dataclass
class Situation:
    """A situation with a capture."""
    label: dict
    half: str     # A to H: provoked, P to W: public reports, edited
    kernel: str   # of a guest, or public, or edited
    is_calm: bool
    capture: pathlib.Path

    @property
    def name(self):
        return self.label['name']


def read_yaml(path):
    return yaml.safe_load(path.read_text())


def described():
    """(file, situation) of all that have a file NAME.yaml here, with and without a capture."""
    for file in sorted(HERE.glob('*.yaml')):
        for one in read_yaml(file):
            yield file.stem, one


def seen():
    """All situations with a capture."""
    for file in LABELS:
        for one in read_yaml(PROVOKED / file):
            for path in sorted((PROVOKED / 'fixtures').glob(f"{one['name']}@*{SUFFIX}")):
                yield Situation(one, one['half'], path.name.removesuffix(SUFFIX).partition('@')[2], file.startswith('calm'), path)
    for one in read_yaml(PUBLIC / 'reports.yaml'):
        yield Situation(one, one['half'], 'public', one.get('calm', False), PUBLIC / f"fixtures/{one['name']}{SUFFIX}")
    for file, one in described():
        if 'capture' in one:
            label = one | {'name': f"{file}: {one['name']}", 'causes': [one['cause']] if 'cause' in one else []}
            yield Situation(label, EDITED, EDITED, 'cause' not in one, BASES / one['capture'])


def edited(text, edits, poll):
    """The file's text in this poll."""
    for edit in edits:
        if poll < edit.get('from', 1):
            continue
        begin, step = edit.get('ramp', [0, 0])
        put = edit['put'].replace('%d', str(int(begin + step * poll)))
        if 'find' not in edit:
            text = put
            continue
        text, count = re.subn(edit['find'], lambda match, put=put: match.expand(put), text, flags=re.M)
        assert count, f"{edit['file']}: nothing matches {edit['find']}"
    return text


def scratch():
    """A temporary directory, in memory if there is enough: a capture has thousands of small files."""
    memory = pathlib.Path('/dev/shm')
    has_room = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    return tempfile.TemporaryDirectory(prefix='situation-', dir=memory if has_room else None)


def unpack(path, directory, *options):
    """The directory of a packed capture."""
    subprocess.run(['tar', '--zstd', *options, '-xf', path, '-C', directory], check=True)
    (manifest,) = pathlib.Path(directory).glob('*/manifest.yaml')
    return manifest.parent


def repeat_last_poll(one, root):
    """The capture's last poll in place of all polls, repeated with the edits."""
    first = sorted(entry for entry in root.iterdir() if POLL.match(entry.name))[-1]
    for entry in [entry for entry in root.iterdir() if POLL.match(entry.name) and entry != first]:
        shutil.rmtree(entry)
    base = root / 'base'
    first.rename(base)
    seconds = one.get('seconds', 10)
    for poll in range(one.get('polls', 3)):
        place = root / f'{poll:06d}'
        shutil.copytree(base, place, copy_function=os.link)
        time = f'2026-11-20T{15 + poll * seconds // 3600:02d}:{poll * seconds // 60 % 60:02d}:{poll * seconds % 60:02d}Z'
        (place / 'poll.yaml').unlink()
        (place / 'poll.yaml').write_text(f'label: {poll}\nrealtime: {time}\nmonotonic_ns: {(1000 + poll * seconds) * 10**9}\n')
        for name in {edit['file'] for edit in one['edits']}:
            file = place / name
            old = file.read_text(errors='surrogateescape') if file.exists() else ''  # some files are binary numbers
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)  # a link to the capture's directory
            file.write_text(edited(old, [edit for edit in one['edits'] if edit['file'] == name], poll), errors='surrogateescape')
    shutil.rmtree(base)


def prepare(label, capture, directory):
    """The situation's capture as a directory below `directory`."""
    if not label.get('edits'):
        return unpack(capture, directory)
    # Otherwise thousands of small files that no edit changes would be copied for each poll.
    root = unpack(capture, directory, '--exclude=*/sys/kernel/*')
    repeat_last_poll(label, root)
    return root


def form_problems():
    """What is wrong with the set itself: a list of texts."""
    ones = [one | {'file': file} for file in LABELS for one in read_yaml(PROVOKED / file)]
    effects = read_yaml(PROVOKED / 'fixtures/effects.yaml')
    names = collections.Counter(one['name'] for one in ones)
    known = {one['name']: one for one in ones}
    wrong = [f'{name}: {count} situations have that name' for name, count in names.items() if count > 1]
    wrong += [f"{one['name']}: half {one['half']} is in {one['file']}" for one in ones if one['half'] not in HALVES_OF[one['file'].rpartition('-')[2]]]
    wrong += [f"{one['name']}: no causes" for one in ones if one['file'].startswith('problems') and not one.get('causes')]
    for path in sorted((PROVOKED / 'fixtures').glob(f'*{SUFFIX}')):
        name, _, kernel = path.name.removesuffix(SUFFIX).partition('@')
        if kernel not in known.get(name, {}).get('kernels', KERNELS if name in known else ()):
            wrong.append(f'{path.name}: no situation is recorded there')
        if (known.get(name, {}).get('half') in tuple('DEFGH') or known.get(name, {}).get('file') == 'problems-c.yaml') and not effects.get(f'{name}@{kernel}', {}).get('effect'):
            wrong.append(f'{path.name}: no effect was verified')
    return wrong + problems_of_described()


def problems_of_described():
    """A described situation has a capture, or a recording whose label has its cause, or a reason why nobody has seen it."""
    causes = {one.capture.name.removesuffix(SUFFIX): one.label.get('causes', ()) for one in seen() if one.half != EDITED}
    wrong = []
    for file, one in described():
        name = f"{file}: {one['name']}"
        if sum(bool(one.get(key)) for key in ('capture', 'recorded', 'never_seen')) != 1:
            wrong.append(f'{name}: needs one of capture, recorded and never_seen')
        elif 'recorded' in one and one['cause'] not in causes.get(one['recorded'], ()):
            wrong.append(f"{name}: no capture of the name {one['recorded']} has the cause {one['cause']}")
    return wrong


def counts():
    """{what: number of situations}, and of causes by the best that there is of each."""
    halves = collections.Counter('edited' if one.half == EDITED else 'public reports' if one.kernel == 'public' else 'provoked' for one in seen())
    best = {}
    for _, one in described():
        if 'cause' in one:
            rank = 'recorded' if 'recorded' in one else 'edited only' if 'capture' in one else 'never seen'
            order = ('recorded', 'edited only', 'never seen')
            best[one['cause']] = min(best.get(one['cause'], rank), rank, key=order.index)
    real = {cause for one in seen() if one.half != EDITED for cause in one.label.get('causes', ())[:1]}
    best = {cause: 'recorded' if cause in real else rank for cause, rank in best.items()}
    situations = dict(halves) | {'never seen': sum('never_seen' in one for _, one in described())}
    return {'situations': situations, 'causes': dict(collections.Counter(best.values()))}
